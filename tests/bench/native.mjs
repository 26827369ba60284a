// What a broker process costs, ours beside Apache Kafka 4.3.0, alternated in one run and driven by the same client.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  cpuMicros,
  java,
  oracle,
  oracleHome,
  residentBytes,
  startKafka,
  startSteplog,
  temporaryDirectory,
  waitedForCoreMs,
} from "../processes.mjs";

const KAFKA_PORT = 41092;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What is produced and fetched: `share` of the records that a run has, since those of 100 KB would fill the disk. */
const LOADS = [
  { name: "1KB", what: "1 KB", size: 1024 },
  { name: "12partitions", what: "1 KB, 12 partitions", size: 1024, partitions: 12 },
  { name: "100B", what: "100 B", size: 100 },
  { name: "100KB", what: "100 KB", size: 102_400, share: 0.02 },
  ...["gzip", "snappy", "lz4", "zstd"].map((codec) => ({ name: codec, what: `1 KB, ${codec}`, size: 1024, codec })),
];
export const loadNames = LOADS.map(({ name }) => name);

async function started(which) {
  if (which === "kafka") return startKafka({ port: KAFKA_PORT });
  const directory = join(temporaryDirectory("bench"), "log");
  mkdirSync(directory, { recursive: true });
  const broker = await startSteplog({ directory });
  // What else runs on the machine would count otherwise; Kafka's five seconds hide it.
  broker.readyMs -= waitedForCoreMs(broker.pid);
  return broker;
}

/** What each record of a load cost the broker, in a topic of its own. */
async function costs(which, broker, { name, size, partitions = 1, share = 1, codec = "none" }, records) {
  const topic = `bench-${name}`;
  const create = ["--create", "--topic", topic, "--partitions", partitions, "--replication-factor", "1"];
  oracle(oracleHome(), KAFKA_PORT, "tool", "topics", "--bootstrap-server", broker.address, ...create.map(String));
  await sleep(1000);
  const count = Math.ceil(records * share);
  const warmUp = Math.ceil(count / 5);
  /** CPU time of the broker for each of `count` records. */
  const cost = (mode, count, ...settings) => {
    const before = cpuMicros(broker.pid);
    const { records: done } = java("tests/bench/Load.java", mode, broker.address, topic, count, size, ...settings);
    if (done < count) throw new Error(`${which}: ${mode} moved ${done} of ${count} records`);
    return (cpuMicros(broker.pid) - before) / done;
  };
  const produce = (count) => cost("produce", count, "acks=1", `compression.type=${codec}`);
  const fetch = (count) => cost("fetch", count, "max.poll.records=5000");
  // A JVM compiles while it is new; what it costs then is not what it costs all day.
  produce(warmUp);
  fetch(warmUp);
  return { produce: produce(count), fetch: fetch(warmUp + count) };
}

/** One life of a broker, in which it bears every load. */
async function measure(which, loads, records) {
  const broker = await started(which);
  await sleep(1000);
  const result = { readyMs: broker.readyMs, idleBytes: residentBytes(broker.pid), loads: {} };
  for (const load of loads) {
    result.loads[load.name] = await costs(which, broker, load, records);
    console.error(`${which}, ${load.what}: ${JSON.stringify(result.loads[load.name])}`);
  }
  result.loadedBytes = residentBytes(broker.pid);
  await broker.stop();
  return result;
}

/** Rows `{ what, ours, theirs, unit, ratio, most }`: the last two are what DESIGN allows, of ours / theirs or of ours. */
export async function nativeRows({ runs, records, names }) {
  const loads = LOADS.filter(({ name }) => names.includes(name));
  const results = { steplog: [], kafka: [] };
  for (let run = 0; run < runs; run += 1)
    for (const which of run % 2 === 0 ? ["steplog", "kafka"] : ["kafka", "steplog"]) {
      console.error(`run ${run + 1} of ${runs}, ${which}`);
      results[which].push(await measure(which, loads, records));
    }
  const row = (what, unit, of, goal) => {
    const [ours, theirs] = ["steplog", "kafka"].map((which) => median(results[which].map(of)));
    return { what, ours, theirs, unit, ...goal };
  };
  const half = { ratio: 0.5 };
  const tenth = { ratio: 0.1 };
  return [
    ...loads.flatMap(({ name, what }) =>
      ["produce", "fetch"].map((key) =>
        row(`CPU per record, ${key}, ${what}`, "µs", (run) => run.loads[name][key], half),
      ),
    ),
    row("memory, idle", "MB", ({ idleBytes }) => idleBytes / 1e6, tenth),
    row("memory, after the loads", "MB", ({ loadedBytes }) => loadedBytes / 1e6, tenth),
    row("start until ready, less waiting for a core", "ms", ({ readyMs }) => readyMs, { most: 50 }),
  ];
}
