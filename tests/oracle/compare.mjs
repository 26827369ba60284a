// `npm run test:oracle [-- NAME…]`: our clients and our experiments against Apache Kafka 4.3.0. The experiment's cluster
// section becomes the settings of `tests/oracle/kafka up`, and its kill, stop, cont and start become `--on` hooks.
// `npm run test:oracle -- --record FILE` makes a file of recorded facts again (record.mjs).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { broken, experiments, listed, run } from "../experiments.mjs";
import * as install from "../install.mjs";
import { oracle, oracleHome } from "../processes.mjs";
import { cluster } from "./kafka-client.mjs";
import { record, recordable } from "./record.mjs";

const PORT = Number(process.env.ORACLE_PORT ?? 42092);

const { values, positionals } = parseArgs({ options: { record: { type: "string" } }, allowPositionals: true });
const known = values.record === undefined ? experiments : recordable();
const wanted = values.record === undefined ? positionals : [values.record];
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`there is no ${unknown.join(", ")} here: there are ${known.join(", ")}`);
  process.exit(2);
}

install.rust();
install.java();
process.env.ORACLE_HOME = oracleHome();
process.env.ORACLE_PORT = String(PORT);
process.on("exit", () => oracle(oracleHome(), PORT, "down"));

const build = spawnSync("cargo", ["build", "--release", "--bin", "steplog"], { cwd: install.root, stdio: "inherit" });
if (build.status !== 0) process.exit(1);

if (values.record !== undefined) {
  await record(values.record, PORT);
  process.exit(0);
}
const kafka = join(install.root, "tests/oracle/kafka");
const hooks = ["kill", "stop", "cont", "start"].flatMap((event) => ["--on", `${event}='${kafka}' ${event} {node}`]);

const names = wanted.length > 0 ? wanted : experiments;
let failed = 0;
for (const name of names) {
  const address = oracle(oracleHome(), PORT, "up", ...cluster(listed(name)));
  const { code, report, stderr } = await run("release", name, "--bootstrap", address, ...hooks);
  oracle(oracleHome(), PORT, "down");
  if (code !== 0) failed += 1;
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} ${code === 0 ? "" : `exit ${code}: ${stderr.trim()}`}`);
  if (report)
    console.table(
      report.facts.map(({ name, kind, value, expected, holds }) => ({ name, kind, value, expected, holds })),
    );
  if (report && code !== 0) console.log(broken(report).join("\n"));
}
console.log(`${names.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
