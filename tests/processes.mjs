// Starts brokers (ours and Apache Kafka) for the programs below tests/, and measures what they cost.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./install.mjs";

export const steplog = join(root, "target/release/steplog");
const TICKS_PER_SECOND = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout) || 100;

// A signal ends node without its exit listeners, which remove directories and end brokers. So it becomes an exit, with
// the code that a shell would show.
for (const [signal, code] of [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
])
  process.once(signal, () => process.exit(code));

/** A directory that is removed when the program ends, also by a signal. */
export function temporaryDirectory(name) {
  const path = mkdtempSync(join(tmpdir(), `steplog-${name}-`));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Our broker: resolves once it serves, with its address, pid, the milliseconds it took, and `stop()`. */
export function startSteplog({ binary = steplog, directory, settings = {}, args = [] }) {
  const set = Object.entries({
    listeners: "PLAINTEXT://127.0.0.1:0",
    ...(directory && { "log.dirs": directory }),
    ...settings,
  });
  const command = [
    "broker",
    ...(directory ? [] : ["--memory"]),
    ...set.flatMap(([k, v]) => ["--set", `${k}=${v}`]),
    ...args,
  ];
  const started = performance.now();
  const child = spawn(binary, command, { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  return new Promise((resolve, reject) => {
    let output = "";
    child.once("error", reject);
    ended.then((how) => reject(new Error(`the broker ended with ${how} before it was ready: ${command.join(" ")}`)));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      const ready = /^ready (\S+)$/m.exec(output);
      if (!ready) return;
      const stop = (signal = "SIGTERM") => (child.kill(signal), ended);
      resolve({ address: ready[1], pid: child.pid, readyMs: performance.now() - started, stop, ended });
    });
  });
}

/** Runs our copy of the oracle's script and returns what it printed. */
export function oracle(home, port, ...args) {
  const result = spawnSync(join(root, "tests/oracle/kafka"), args, {
    env: { ...process.env, ORACLE_HOME: home, ORACLE_PORT: String(port) },
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`tests/oracle/kafka ${args.join(" ")}: ${result.stderr || result.stdout}`);
  return result.stdout.trim();
}

/** Apache Kafka 4.3.0 with the same shape as `startSteplog`. Its jars are shared between homes. */
export function startKafka({ port = 41092, settings = {} }) {
  const home = oracleHome();
  const started = performance.now();
  const set = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  process.on("exit", () => oracle(home, port, "down"));
  const address = oracle(home, port, "up", "1", ...set);
  const pid = Number(readFileSync(join(home, String(port), "b1.pid"), "utf8"));
  return { address, pid, readyMs: performance.now() - started, stop: () => oracle(home, port, "down") };
}

/** Where Apache Kafka's jars and state live; fetched from Maven at the first use. */
export function oracleHome() {
  return process.env.ORACLE_HOME ?? join(process.env.HOME ?? tmpdir(), ".cache/steplog-kafka");
}

/** User and system time of a process so far, in microseconds. */
export function cpuMicros(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

/** How long a process's first thread could have run but had no core, in milliseconds. */
export function waitedForCoreMs(pid) {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;
}

/** The command that runs a Java program below tests/ against kafka-clients 4.3.0: program and arguments. */
export function javaCommand(file, ...args) {
  const classPath = oracle(oracleHome(), 0, "cp");
  const log4j = `-Dlog4j2.configurationFile=file:${join(root, "tests/oracle/log4j2.properties")}`;
  return ["java", ["-Xmx512m", log4j, "-Doracle.log=ERROR", "-cp", classPath, join(root, file), ...args.map(String)]];
}

/** Runs such a program to its end; it prints one JSON object. */
export function java(file, ...args) {
  const result = spawnSync(...javaCommand(file, ...args), { encoding: "utf8", maxBuffer: 1 << 26 });
  if (result.status !== 0) throw new Error(`${file} ${args.join(" ")}: ${result.stderr}${result.stdout}`);
  return JSON.parse(result.stdout.trim().split("\n").at(-1));
}
