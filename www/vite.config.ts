// Builds the lab: one script, one style, the wasm beside it, all by relative addresses, so that the folder works wherever it is put.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";

const experiments = readdirSync(join(import.meta.dirname, "../tests/experiments"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

export default defineConfig({
  base: "./",
  define: { EXPERIMENTS: JSON.stringify(experiments) },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    // A chapter names this file, so its name carries no hash.
    rollupOptions: { output: { entryFileNames: "step-lab.js" } },
  },
});
