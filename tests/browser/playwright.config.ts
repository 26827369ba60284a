// Runs the built site (www/dist, made by `npm run build`) in system Chromium, or in Playwright's own where there is none.
import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const chromium = "/usr/bin/chromium";
const port = Number(process.env["PORT"] ?? 4791);

export default defineConfig({
  testDir: ".",
  timeout: 60_000,
  fullyParallel: true,
  workers: 2,
  reporter: "list",
  outputDir: "../../target/playwright",
  use: {
    baseURL: `http://127.0.0.1:${port}`,
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      args: ["--no-sandbox"],
      ...(existsSync(chromium) ? { executablePath: chromium } : {}),
    },
  },
  webServer: {
    command: `npx vite preview www --host 127.0.0.1 --port ${port} --strictPort`,
    cwd: "../..",
    url: `http://127.0.0.1:${port}/`,
    reuseExistingServer: false,
  },
});
