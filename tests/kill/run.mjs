// `npm run test:kill [-- --rounds N] [--binary PATH]`: SIGKILL under load, again and again, and nothing that was acknowledged is lost.
//
// Every round: let the producer (load.rs, our client with its defaults: acks=all, idempotent) run, kill the broker,
// start it again over its directory, and read everything back with kcat. Acknowledged records come from the producer's
// own log.
import { spawn, spawnSync } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as install from "../install.mjs";
import { startSteplog, steplog, temporaryDirectory } from "../processes.mjs";

const TOPIC = "kill";
const PARTITIONS = 3;
const READ_BACK_MS_MAX = 60_000;
const ACKNOWLEDGED_MS_MAX = 60_000;

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "20" }, binary: { type: "string" } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds ${values.rounds}: expected a number of rounds, 1 or more`);
  process.exit(2);
}

function cargo(...args) {
  if (spawnSync("cargo", args, { cwd: install.root, stdio: "inherit" }).status !== 0) process.exit(1);
}
install.rust();
install.kcat();
if (!values.binary) cargo("build", "--release", "--bin", "steplog");
cargo("build", "--example", "kill-load");
const binary = values.binary ?? steplog;

// Every broker that is started leaves a listener that ends it with us.
process.setMaxListeners(0);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const directory = temporaryDirectory("kill");
const port = await freePort();
const start = () =>
  startSteplog({
    binary,
    directory: join(directory, "log"),
    settings: { listeners: `PLAINTEXT://127.0.0.1:${port}` },
    args: ["--topic", `${TOPIC}:${PARTITIONS}`],
  });

/** The first `count` records of a partition, or all if they are fewer, as kcat reads them: offset → value. */
function readBack(address, partition, count) {
  const range = ["-o", "beginning", "-c", String(count), "-e"];
  const args = ["-C", "-b", address, "-t", TOPIC, "-p", String(partition), ...range, "-q", "-f", "%o %s\n"];
  const result = spawnSync("kcat", args, { maxBuffer: 1 << 30, encoding: "utf8", timeout: READ_BACK_MS_MAX });
  if (result.status !== 0) throw new Error(`kcat: ${result.stderr}`);
  const lines = result.stdout.split("\n").slice(0, -1);
  return new Map(lines.map((line) => [Number(line.split(" ", 1)[0]), line.slice(line.indexOf(" ") + 1)]));
}

/** Acknowledged records that are not where the acknowledgement said. */
function lost(address, acked) {
  const ends = Array.from({ length: PARTITIONS }, () => 0);
  for (const [partition, offset] of acked) ends[partition] = Math.max(ends[partition], offset + 1);
  const partitions = ends.map((end, partition) => (end > 0 ? readBack(address, partition, end) : new Map()));
  return acked.filter(
    ([partition, offset, id]) => partitions[partition].get(offset) !== `${id} ${String(id).repeat(20)}`,
  );
}

const ackLog = join(directory, "acknowledged");
function acknowledged() {
  const lines = readFileSync(ackLog, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => line.split(" ").map(Number));
}

let broker = await start();
const producer = spawn(
  join(install.root, "target/debug/examples/kill-load"),
  [`127.0.0.1:${port}`, TOPIC, String(PARTITIONS)],
  { stdio: ["pipe", openSync(ackLog, "w"), "inherit"] },
);
process.on("exit", () => producer.kill("SIGKILL"));
const producerEnded = new Promise((resolve) => producer.once("exit", resolve));

/** Waits for the load: only a broker that acknowledges can lose what it acknowledged. */
async function untilMoreThan(count) {
  const deadline = Date.now() + ACKNOWLEDGED_MS_MAX;
  while (acknowledged().length <= count) {
    if (Date.now() > deadline) throw new Error(`nothing was acknowledged for ${ACKNOWLEDGED_MS_MAX / 1000} s`);
    await sleep(10);
  }
}

let failed = 0;
function check(name, acked) {
  const gone = lost(`127.0.0.1:${port}`, acked);
  const ok = gone.length === 0;
  if (!ok) failed += 1;
  const first = gone.length > 0 ? `, the first: partition ${gone[0][0]} offset ${gone[0][1]} record ${gone[0][2]}` : "";
  console.log(`${ok ? "ok    " : "FAILED"} ${name}: ${acked.length} acknowledged, ${gone.length} lost${first}`);
}

let acked = [];
for (let round = 1; round <= rounds; round += 1) {
  await untilMoreThan(acked.length);
  await sleep(200 + Math.random() * 500);
  await broker.stop("SIGKILL");
  acked = acknowledged();
  broker = await start();
  check(`round ${round}`, acked);
}
producer.stdin.end();
const code = await producerEnded;
if (code !== 0) throw new Error(`the producer ended with ${code}`);
check("after the last", acknowledged());
await broker.stop();
console.log(`${rounds + 1 - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
