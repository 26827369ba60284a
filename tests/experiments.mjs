// The experiments of the project, and how to run one in each place, for the programs below tests/.
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./install.mjs";

export const experiments = readdirSync(join(root, "tests/experiments"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

export const SEEDS = [1, 2, 3];

/** The longest experiment in real time takes less than a minute; a machine under load, three. */
const RUN_MS_MAX = 300_000;

const binary = (build) => join(root, "target", build, "steplog");

/** `steplog run … --json` with this build: the exit code, the report, and what it said on stderr. */
export async function run(build, name, ...args) {
  const child = spawn(binary(build), ["run", name, "--json", ...args.map(String)], {
    cwd: root,
    timeout: RUN_MS_MAX,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = () => child.kill();
  process.on("exit", end);
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"])
    child[stream].setEncoding("utf8").on("data", (text) => (said[stream] += text));
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  process.off("exit", end);
  const report = said.stdout.trim() === "" ? undefined : JSON.parse(said.stdout);
  return { code, report, stderr: said.stderr };
}

/** What `steplog list --json` tells of an experiment: its nodes, topics and clients with Kafka's keys. */
export function listed(name) {
  const result = spawnSync(binary("release"), ["list", "--json"], { cwd: root, encoding: "utf8" });
  if (result.status !== 0) throw new Error(`steplog list --json: ${result.stderr}`);
  const all = JSON.parse(result.stdout);
  const found = all.find((experiment) => experiment.name === name);
  if (!found) throw new Error(`there is no experiment ${name}: there are ${all.map(({ name }) => name).join(", ")}`);
  return found;
}

/** One of the page's wasms, driven from Node. */
async function loaded(wasm) {
  const module = await import(join(root, `www/pkg/${wasm}.js`));
  module.initSync({ module: readFileSync(join(root, `www/pkg/${wasm}_bg.wasm`)) });
  return module;
}

/** The page's engine, with the codecs if this compiled experiment names one. */
export async function engineFor(experiment) {
  const engine = await loaded("steplog");
  if (engine.names_codec(experiment)) {
    const { compress, decompress } = await loaded("codecs");
    engine.set_codecs(compress, decompress);
  }
  return engine;
}

/** The same run in the page's wasm: its facts and trace hash at the end. */
export async function runInWasm(name, seed) {
  const experiment = readFileSync(join(root, `www/public/experiments/${name}.bin`));
  const { Lab } = await engineFor(experiment);
  const lab = new Lab(experiment, BigInt(seed));
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
