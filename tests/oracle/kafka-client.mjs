// Runs an experiment on Apache Kafka with Kafka's own client (programs/Experiment.java), once: its programs, its kills and
// pauses at their instants, its frame faults by a proxy. Out: what the programs were told, and the batches that then lie in
// the broker's files.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../install.mjs";
import { frameProxy } from "./frame-proxy.mjs";
import { javaCommand, oracle, oracleHome, temporaryDirectory } from "../processes.mjs";

const PROGRAM = "tests/oracle/programs/Experiment.java";

/** What `kafka up` needs to know of an experiment's cluster. It starts nodes that are broker and controller. */
export function cluster({ name, nodes }) {
  const settings = (node) => Object.entries(node.config).map(([key, value]) => `${key}=${value}`);
  for (const node of nodes) {
    if (node.roles.length !== 2) throw new Error(`${name}: node ${node.id} is not both broker and controller`);
    if (String(settings(node)) !== String(settings(nodes[0])))
      throw new Error(`${name}: node ${node.id} has settings of its own, which tests/oracle/kafka cannot give`);
  }
  return [String(nodes.length), ...settings(nodes[0])];
}

/** `experiment` is an element of `steplog list --json`. */
export async function runWithKafkaClient(experiment, port) {
  const frameFaults = experiment.faults.flatMap((fault) => fault.Frame ?? []);
  const proxy = frameFaults.length > 0 ? await frameProxy(frameFaults, port) : undefined;
  const advertised = proxy ? [`advertised.listeners=PLAINTEXT://127.0.0.1:${proxy.port}`] : [];
  const listening = oracle(oracleHome(), port, "up", ...cluster(experiment), ...advertised);
  const address = proxy ? `127.0.0.1:${proxy.port}` : listening;
  const file = join(temporaryDirectory("experiment"), "experiment.json");
  writeFileSync(file, JSON.stringify(experiment));
  const schedule = experiment.faults.flatMap(stepsOf);
  const child = spawn(...javaCommand(PROGRAM, address, file), { stdio: ["ignore", "pipe", "inherit"] });
  const end = () => child.kill("SIGKILL");
  process.on("exit", end);
  let [output, begun] = ["", undefined];
  const hooks = [];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
    const begin = /^begin (\d+)$/m.exec(output);
    if (begun !== undefined || !begin) return;
    begun = Number(begin[1]);
    proxy?.begin();
    for (const { at_ms, node, action } of schedule)
      setTimeout(
        async () => {
          const start_ms = Date.now() - begun;
          await hook(port, action, node);
          hooks.push({ action, node, start_ms, end_ms: Date.now() - begun });
        },
        begun + at_ms - Date.now(),
      );
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  process.off("exit", end);
  proxy?.close();
  if (code !== 0) throw new Error(`${PROGRAM} ended with ${code}: ${output}`);
  const told = JSON.parse(output.trim().split("\n").at(-1));
  const logs = Object.fromEntries(
    [...new Set(told.drained)].flatMap((topic) => {
      const { partitions } = experiment.topics.find(({ name }) => name === topic);
      return Array.from({ length: partitions }, (_, n) => [`${topic}-${n}`, batchesOf(port, `${topic}-${n}`)]);
    }),
  );
  oracle(oracleHome(), port, "down");
  return { ...told, hooks, logs };
}

/** What a fault asks of a node, each at its instant. */
function stepsOf(fault) {
  const [kind] = Object.keys(fault);
  if (kind === "Frame") return [];
  const { node, when, lasts, dying, restart } = fault[kind];
  const at = when.At;
  if (at === undefined) throw new Error("a fault that waits for a condition cannot be recorded");
  const step = (us, action) => ({ at_ms: us / 1000, node, action });
  switch (kind) {
    case "Pause":
      return [step(at, "stop"), step(at + lasts, "cont")];
    case "Kill":
      return [
        ...(dying > 0 ? [step(at, "stop")] : []),
        step(at + dying, "kill"),
        ...(restart ? [step(at + restart.after, "start")] : []),
      ];
    default:
      throw new Error(`${kind} cannot be recorded`);
  }
}

/** `tests/oracle/kafka` without waiting in this thread, which has other steps to give. */
export function hook(port, ...args) {
  const env = { ...process.env, ORACLE_HOME: oracleHome(), ORACLE_PORT: String(port) };
  const child = spawn(join(root, "tests/oracle/kafka"), args, { env, stdio: ["ignore", "ignore", "inherit"] });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`kafka ${args.join(" ")}: ${code}`))));
  });
}

/** The batches of a partition's first segment, in hex. */
function batchesOf(port, partition) {
  const path = join(oracleHome(), String(port), "b1", partition, "00000000000000000000.log");
  if (!existsSync(path)) return [];
  const file = readFileSync(path);
  const batches = [];
  for (let at = 0; at + 12 <= file.length;) {
    const end = at + 12 + file.readInt32BE(at + 8);
    batches.push(file.subarray(at, end).toString("hex"));
    at = end;
  }
  return batches;
}
