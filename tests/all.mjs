// `npm test`: everything that CI checks. `node tests/all.mjs NAME…` runs only the named parts.
import * as install from "./install.mjs";
import { experiments, run, SEEDS } from "./experiments.mjs";
import { runAll } from "./steps.mjs";

const binary = "target/release/steplog";

const parts = {
  lint: () => [
    { name: "rustfmt", command: ["cargo", "fmt", "--all", "--check"] },
    { name: "clippy", command: ["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"] },
    {
      name: "clippy for the page",
      command: ["cargo", "clippy", "--lib", "--target", "wasm32-unknown-unknown", "--", "-D", "warnings"],
    },
    { name: "eslint", command: ["npx", "eslint", "."] },
    { name: "prettier", command: ["npx", "prettier", "--check", "."] },
  ],
  rust: () => [{ name: "Rust tests", command: ["cargo", "test", "--workspace"], counts: true }],
  build: () => [
    { name: "debug build", command: ["cargo", "build", "--bin", "steplog"] },
    { name: "release build", command: ["cargo", "build", "--release", "--bin", "steplog"] },
    { name: "page and book", command: ["node", "www/build.mjs"] },
    { name: "tsc", command: ["npx", "tsc", "--noEmit", "-p", "www"] },
  ],
  places: () => [
    { name: "places", command: ["node", "--test", "--test-reporter=tap", "tests/places/"], counts: true },
    { name: "kills", command: ["node", "tests/kill/run.mjs", "--rounds", "3", "--binary", binary], counts: true },
  ],
  wasm: () => {
    const driver = install.chromium().driver;
    install.wasmPack();
    return [
      {
        name: "wasm in Chromium",
        command: [
          "wasm-pack",
          "test",
          "--headless",
          "--chrome",
          "--mode",
          "no-install",
          "--chromedriver",
          driver,
        ].concat(["tests/wasm"]),
        env: () => {
          const { facts } = run("release", "acks-0", "--seed", 1).report;
          const numbers = facts.filter(({ value }) => typeof value === "number");
          const hashes = experiments.flatMap((name) =>
            SEEDS.map((seed) => `${name}:${seed}:${run("release", name, "--seed", seed).report.trace_hash}`),
          );
          return {
            ACKS_0_FACTS: numbers.map(({ name, value }) => `${name}=${value}`).join(","),
            TRACE_HASHES: hashes.join(","),
          };
        },
        counts: true,
      },
    ];
  },
  browser: () => {
    install.chromium();
    return [{ name: "browser", command: ["npx", "playwright", "test", "-c", "tests/browser"], counts: true }];
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
await runAll((wanted.length > 0 ? wanted : Object.keys(parts)).flatMap((name) => parts[name]()));
