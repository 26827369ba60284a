// `node tests/oracle/claims.mjs`: makes tests/oracle/facts/claims.json again, in three runs on fresh clusters.
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as install from "../install.mjs";
import { java, oracle, oracleHome } from "../processes.mjs";

const RUNS = 3;
const PORT = 41292;
/** Around the versions at which books place the default's change. */
const VERSIONS = ["0.11.0.3", "1.1.1", "2.0.1", "2.8.2", "3.0.0", "3.0.1", "3.6.1", "4.3.0"];

install.java();
const home = oracleHome();
const jars = VERSIONS.map((version) => {
  const jar = join(home, "clients", `kafka-clients-${version}.jar`);
  if (!existsSync(jar)) {
    const artifact = `-Dartifact=org.apache.kafka:kafka-clients:${version}`;
    const output = `-DoutputDirectory=${join(home, "clients")}`;
    const fetched = spawnSync("mvn", ["-q", "-B", "dependency:copy", artifact, output], { stdio: "inherit" });
    if (fetched.status !== 0) throw new Error(`could not fetch kafka-clients ${version}`);
  }
  return jar;
});

const observed = [];
for (let run = 1; run <= RUNS; run += 1) {
  const bootstrap = oracle(home, PORT, "up", "1");
  try {
    observed.push({ run, ...java("tests/oracle/programs/Claims.java", bootstrap, ...jars) });
  } finally {
    oracle(home, PORT, "down");
  }
  console.log(`run ${run} of ${RUNS}`);
}
const stable = {};
const varying = {};
for (const key of Object.keys(observed[0]).filter((key) => key !== "run")) {
  const values = [...new Set(observed.map((run) => JSON.stringify(run[key])))].map((value) => JSON.parse(value));
  if (values.length === 1) stable[key] = values[0];
  else varying[key] = values;
}
const file = {
  experiment: "claims",
  kafka: "4.3.0",
  setup: {
    cluster: "1 node, process.roles=broker,controller",
    topic: "claims, 1 partition",
    idempotence_by_default: "each version's kafka-clients with nothing set but addresses and serializers",
  },
  steps: ["tests/oracle/programs/Claims.java says what is done and asked"],
  observed,
  stable,
  varying,
};
const path = join(install.root, "tests/oracle/facts/claims.json");
writeFileSync(path, `${JSON.stringify(file, null, 1)}\n`);
console.log(`wrote tests/oracle/facts/claims.json${Object.keys(varying).length > 0 ? ", which varies" : ""}`);
