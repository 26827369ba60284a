// `npm run test:clients`: clients that share no code with us produce to our broker and read back, with checksums.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as install from "../install.mjs";
import { java, startSteplog, temporaryDirectory } from "../processes.mjs";

const RECORDS = 100_000;

install.rust();
install.kcat();
install.java();
const built = spawnSync("cargo", ["build", "--release", "--bin", "steplog"], { cwd: install.root, stdio: "inherit" });
if (built.status !== 0) process.exit(1);

const directory = temporaryDirectory("clients");
const broker = await startSteplog({ directory: join(directory, "log") });

function kcat(args, input) {
  const result = spawnSync("kcat", ["-b", broker.address, ...args], { input, maxBuffer: 1 << 28 });
  if (result.status !== 0) throw new Error(`kcat ${args.join(" ")}: ${result.stderr}`);
  return result.stdout;
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

function kcatRoundTrip(topic, ...settings) {
  const lines = Buffer.from(
    Array.from({ length: RECORDS }, (_, i) => `k${i}\t${sha256(String(i)).repeat(1 + (i % 3))}\n`).join(""),
  );
  const file = join(directory, `${topic}.txt`);
  writeFileSync(file, lines);
  kcat(["-P", "-t", topic, "-p", "0", "-K", "\t", "-l", file, ...settings.flatMap((s) => ["-X", s])]);
  const read = kcat(["-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-K", "\t"]);
  const count = read.toString("latin1").split("\n").length - 1;
  if (count !== RECORDS) throw new Error(`read ${count} of ${RECORDS} records`);
  if (sha256(read) !== sha256(lines)) throw new Error("the bytes read differ from those sent");
  return `${count} records, sha256 ${sha256(read).slice(0, 12)}`;
}

function javaRoundTrip(topic, ...settings) {
  const result = java("tests/clients/RoundTrip.java", broker.address, topic, RECORDS, ...settings);
  if (result.read !== RECORDS) throw new Error(`read ${result.read} of ${RECORDS} records`);
  if (!result.checksums_equal) throw new Error("the checksums differ");
  return `${result.read} records, checksums equal`;
}

const cases = [
  ["kcat, acks=all", () => kcatRoundTrip("kcat-all", "acks=all")],
  ["kcat, acks=1", () => kcatRoundTrip("kcat-1", "acks=1")],
  ["kcat, idempotent", () => kcatRoundTrip("kcat-idempotent", "enable.idempotence=true")],
  ["kafka-clients 4.3.0, defaults (idempotent, acks=all)", () => javaRoundTrip("java-all")],
  ["kafka-clients 4.3.0, acks=1", () => javaRoundTrip("java-1", "acks=1")],
  ["kafka-clients 4.3.0, acks=0", () => javaRoundTrip("java-0", "acks=0")],
];

let failed = 0;
const rows = cases.map(([name, run]) => {
  try {
    return { client: name, result: "passed", detail: run() };
  } catch (error) {
    failed += 1;
    return { client: name, result: "FAILED", detail: error.message };
  }
});
console.table(rows);
await broker.stop();
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
