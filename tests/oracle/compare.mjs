// `npm run test:oracle [NAME…]`: our clients and our experiments against Apache Kafka 4.3.0. The experiment's cluster
// section becomes the settings of `tests/oracle/kafka up`, and its kill, stop, cont and start become `--on` hooks.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { broken, experiments, run } from "../experiments.mjs";
import * as install from "../install.mjs";
import { oracle, oracleHome } from "../processes.mjs";

const PORT = 42092;

install.rust();
install.java();
const build = spawnSync("cargo", ["build", "--release", "--bin", "steplog"], { cwd: install.root, stdio: "inherit" });
if (build.status !== 0) process.exit(1);

process.env.ORACLE_HOME = oracleHome();
process.env.ORACLE_PORT = String(PORT);
const kafka = join(install.root, "tests/oracle/kafka");
const hooks = ["kill", "stop", "cont", "start"].flatMap((event) => ["--on", `${event}=${kafka} ${event} {node}`]);

/** The experiment's nodes and Kafka settings, as `steplog list --json` tells them. */
function cluster(name) {
  const listed = spawnSync(join(install.root, "target/release/steplog"), ["list", "--json"], {
    encoding: "utf8",
    cwd: install.root,
  });
  const { nodes, config } = JSON.parse(listed.stdout).find((experiment) => experiment.name === name);
  return { nodes, settings: Object.entries(config).map(([key, value]) => `${key}=${value}`) };
}

const wanted = process.argv.slice(2);
const names = wanted.length > 0 ? wanted : experiments;
let failed = 0;
for (const name of names) {
  const { nodes, settings } = cluster(name);
  const address = oracle(oracleHome(), PORT, "up", String(nodes), ...settings);
  const { code, report, stderr } = run("release", name, "--bootstrap", address, ...hooks);
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
