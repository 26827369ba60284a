// `npm test`: everything that CI checks. `node tests/all.mjs NAME…` runs only the named parts.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { experiments, run, SEEDS } from "./experiments.mjs";
import * as install from "./install.mjs";
import { runAll } from "./steps.mjs";

const binary = "target/release/steplog";

const debug = { name: "debug build", command: ["cargo", "build", "--bin", "steplog"] };
const release = { name: "release build", command: ["cargo", "build", "--release", "--bin", "steplog"] };
const page = { name: "page and book", command: ["node", "www/build.mjs"] };

/** Named one by one: Node 20 takes no pattern here, and its successors no directory. */
const placeTests = () =>
  readdirSync(join(install.root, "tests/places"))
    .filter((file) => file.endsWith(".test.mjs"))
    .map((file) => `tests/places/${file}`);

/** What the page's wasm has to come to in Chromium. */
async function nativeResults() {
  const { report } = await run("release", "acks-0", "--seed", 1);
  const numbers = report.facts.filter(({ value }) => typeof value === "number");
  const hashes = [];
  for (const name of experiments)
    for (const seed of SEEDS)
      hashes.push(`${name}:${seed}:${(await run("release", name, "--seed", seed)).report.trace_hash}`);
  return {
    ACKS_0_FACTS: numbers.map(({ name, value }) => `${name}=${value}`).join(","),
    TRACE_HASHES: hashes.join(","),
  };
}

const parts = {
  lint: () => [
    { name: "rustfmt", command: ["cargo", "fmt", "--all", "--check"] },
    { name: "clippy", command: ["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"] },
    {
      name: "clippy for the page",
      command:
        "cargo clippy -p steplog -p steplog-codecs --no-default-features -F steplog-codecs/web --lib --target wasm32-unknown-unknown -- -D warnings".split(
          " ",
        ),
    },
    { name: "eslint", command: ["npx", "eslint", "."] },
    { name: "prettier", command: ["npx", "prettier", "--check", "."] },
  ],
  rust: () => [{ name: "Rust tests", command: ["cargo", "test", "--workspace", "--no-fail-fast"], counts: true }],
  build: () => [debug, release, page, { name: "tsc", command: ["npx", "tsc", "--noEmit", "-p", "www"] }],
  places: () => [
    debug,
    release,
    page,
    { name: "places", command: ["node", "--test", "--test-reporter=tap", ...placeTests()], counts: true },
    { name: "kills", command: ["node", "tests/kill/run.mjs", "--rounds", "3", "--binary", binary], counts: true },
  ],
  wasm: () => {
    const driver = install.chromium().driver;
    install.wasmPack();
    return [
      release,
      page,
      {
        name: "wasm in Chromium",
        command: `wasm-pack test --headless --chrome --mode no-install --chromedriver ${driver} tests/wasm`.split(" "),
        env: nativeResults,
        counts: true,
      },
    ];
  },
  browser: () => {
    install.chromium();
    return [page, { name: "browser", command: ["npx", "playwright", "test", "-c", "tests/browser"], counts: true }];
  },
};

install.rust();
install.packages();
install.kcat();
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`no part called ${unknown.join(", ")}; there are ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}
const checks = (wanted.length > 0 ? wanted : Object.keys(parts)).flatMap((name) => parts[name]());
// What several parts build is built once.
const names = checks.map(({ name }) => name);
await runAll(checks.filter(({ name }, at) => names.indexOf(name) === at));
