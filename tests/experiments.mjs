// The experiments of the project, and how to run one in each place, for the programs below tests/.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./install.mjs";

export const experiments = readdirSync(join(root, "tests/experiments"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

export const SEEDS = [1, 2, 3];

/** `steplog run … --json` with this build: the exit code, the report, and what it said on stderr. */
export function run(build, name, ...args) {
  const result = spawnSync(join(root, "target", build, "steplog"), ["run", name, "--json", ...args.map(String)], {
    cwd: root,
    encoding: "utf8",
    timeout: 300_000,
    maxBuffer: 1 << 26,
  });
  const report = result.stdout.trim() === "" ? undefined : JSON.parse(result.stdout);
  return { code: result.status, report, stderr: result.stderr };
}

/** The same run in the page's wasm, driven from Node: its facts and trace hash at the end. */
export async function runInWasm(name, seed) {
  const { initSync, Lab } = await import(join(root, "www/pkg/steplog.js"));
  initSync({ module: readFileSync(join(root, "www/pkg/steplog_bg.wasm")) });
  const lab = new Lab(readFileSync(join(root, `www/public/experiments/${name}.bin`)), BigInt(seed));
  lab.seek(lab.meta().endUs);
  const result = { hash: lab.hash(), facts: lab.facts() };
  lab.free();
  return result;
}

/** The facts that should hold and do not, one line each. */
export const broken = (report) =>
  report.facts
    .filter((fact) => fact.holds === false)
    .map((fact) => `${fact.name} is ${fact.value}, not ${fact.expected}`);
