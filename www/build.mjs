// Builds the site into www/dist: the wasm, the compiled experiments, the book in both languages, and the script.
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = join(fileURLToPath(import.meta.url), "../..");

execFileSync("cargo", ["xtask", "web", "experiments", "book"], { cwd: root, stdio: "inherit" });
await build({ root: join(root, "www"), logLevel: "warn" });
cpSync(join(root, "book/out"), join(root, "www/dist/book"), { recursive: true });
