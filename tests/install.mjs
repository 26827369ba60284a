// What a fresh machine lacks, and how it gets it. Every function checks first and installs only what is missing.
// Used by `npm start`, `npm test` and the longer commands; nothing here is needed twice.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cargoBin = join(process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "bin");
process.env.PATH = `${process.env.PATH}:${cargoBin}`;

const WASM_BINDGEN = "0.2.130"; // the same as in Cargo.toml: the runner and the library must agree
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const CHROMEDRIVER = "/usr/bin/chromedriver";

/** The program's first line of version output, or null if it cannot be run. */
function version(program, ...args) {
  const result = spawnSync(program, args.length ? args : ["--version"], { encoding: "utf8" });
  return result.status === 0 ? `${result.stdout}${result.stderr}`.split("\n")[0] : null;
}

function install(what, command, ...args) {
  console.log(`installing ${what} (once): ${command} ${args.join(" ")}`);
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (result.status !== 0) throw new Error(`could not install ${what}; install it by hand and run this again`);
}

function apt(what, ...packages) {
  const privileged = process.getuid?.() === 0 ? [] : ["sudo"];
  const [command, ...args] = [...privileged, "apt-get"];
  install("the package lists", command, ...args, "update", "-qq");
  install(what, command, ...args, "install", "-y", "-qq", "--no-install-recommends", ...packages);
}

/** Rust with the page's target. rust-toolchain.toml names both, so rustup fetches them by itself. */
export function rust() {
  if (!version("cargo")) throw new Error("Rust is missing: install rustup from https://rustup.rs and run this again");
  const targets = spawnSync("rustup", ["target", "list", "--installed"], { cwd: root, encoding: "utf8" });
  if (targets.status === 0 && !targets.stdout.includes("wasm32-unknown-unknown"))
    install("the wasm32 target", "rustup", "target", "add", "wasm32-unknown-unknown");
}

/** The npm packages of package-lock.json. */
export function packages() {
  const wanted = join(root, "package-lock.json");
  const have = join(root, "node_modules", ".package-lock.json");
  if (existsSync(have) && spawnSync("test", [have, "-nt", wanted]).status === 0) return;
  install("npm packages", "npm", "ci", "--no-audit", "--no-fund");
  execFileSync("touch", [have]);
}

/** The system's Chromium and its driver, for Playwright and wasm-pack. */
export function chromium() {
  const found = () => CHROMIUM.find((path) => existsSync(path));
  if (!found() || !existsSync(CHROMEDRIVER))
    apt("Chromium and a Chinese font", "chromium", "chromium-driver", "fonts-noto-cjk");
  const browser = found();
  if (!browser) throw new Error(`no Chromium at ${CHROMIUM.join(", ")}`);
  return { browser, driver: CHROMEDRIVER };
}

/** wasm-pack and the test runner that it calls. */
export function wasmPack() {
  if (!version("wasm-pack")) install("wasm-pack", "cargo", "install", "wasm-pack", "--locked");
  if (!version("wasm-bindgen")?.includes(WASM_BINDGEN))
    install("wasm-bindgen's test runner", "cargo", "install", "wasm-bindgen-cli", "--version", WASM_BINDGEN);
}

/** kcat, a client that shares no code with ours. */
export function kcat() {
  if (!version("kcat", "-V")) apt("kcat", "kcat");
}

/** A JDK and Maven: for Apache Kafka and its Java client. */
export function java() {
  if (!version("javac", "-version")) apt("a JDK", "openjdk-17-jdk-headless");
  if (!version("mvn")) apt("Maven", "maven");
}
