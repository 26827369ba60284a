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
const PARTITIONS = [1, 12];
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a broker with a topic of `partitions`, produces and fetches, and returns what each record cost. */
async function measure(which, { partitions, records, warmUp, size }) {
  let broker;
  if (which === "kafka") {
    broker = startKafka({ port: KAFKA_PORT });
  } else {
    const directory = join(temporaryDirectory("bench"), "log");
    mkdirSync(directory, { recursive: true });
    broker = await startSteplog({ directory });
    // What else runs on the machine would count otherwise; Kafka's five seconds hide it.
    broker.readyMs -= waitedForCoreMs(broker.pid);
  }
  const topic = "bench";
  const create = ["--create", "--topic", topic, "--partitions", partitions, "--replication-factor", "1"];
  oracle(oracleHome(), KAFKA_PORT, "tool", "topics", "--bootstrap-server", broker.address, ...create.map(String));
  await sleep(1000);
  const idleBytes = residentBytes(broker.pid);
  /** CPU time of the broker for each of `count` records. */
  const cost = (mode, count, ...settings) => {
    const before = cpuMicros(broker.pid);
    const { records: done } = java("tests/bench/Load.java", mode, broker.address, topic, count, size, ...settings);
    if (done < count) throw new Error(`${which}: ${mode} moved ${done} of ${count} records`);
    return (cpuMicros(broker.pid) - before) / done;
  };
  const produce = (count) => cost("produce", count, "acks=1");
  const fetch = (count) => cost("fetch", count, "max.poll.records=5000");
  // A JVM compiles while it is new; what it costs then is not what it costs all day.
  produce(warmUp);
  fetch(warmUp);
  const costs = { produce: produce(records), fetch: fetch(warmUp + records) };
  const loadedBytes = residentBytes(broker.pid);
  await broker.stop();
  return { readyMs: broker.readyMs, idleBytes, loadedBytes, ...costs };
}

/** Rows `{ what, ours, theirs, unit, goal }`: goal is the largest ratio ours / theirs that DESIGN allows, if any. */
export async function nativeRows({ runs, records }) {
  const size = 1024;
  const warmUp = Math.ceil(records / 5);
  const results = PARTITIONS.map(() => ({ steplog: [], kafka: [] }));
  for (let run = 0; run < runs; run += 1)
    for (const [at, partitions] of PARTITIONS.entries())
      for (const which of run % 2 === 0 ? ["steplog", "kafka"] : ["kafka", "steplog"]) {
        const result = await measure(which, { partitions, records, warmUp, size });
        results[at][which].push(result);
        console.error(`run ${run + 1} of ${runs}, ${partitions} partition(s), ${which}: ${JSON.stringify(result)}`);
      }
  const of = (at, which, key) => median(results[at][which].map((result) => result[key]));
  const rows = PARTITIONS.flatMap((partitions, at) =>
    ["produce", "fetch"].map((key) => ({
      what: `CPU per record, ${key}, 1 KB, acks=1, ${partitions} partition${partitions > 1 ? "s" : ""}`,
      ours: of(at, "steplog", key),
      theirs: of(at, "kafka", key),
      unit: "µs",
      ratio: 0.5,
    })),
  );
  const idle = (which, key) => of(0, which, key);
  const mb = (bytes) => bytes / 1e6;
  rows.push(
    {
      what: "memory, idle",
      ours: mb(idle("steplog", "idleBytes")),
      theirs: mb(idle("kafka", "idleBytes")),
      unit: "MB",
      ratio: 0.1,
    },
    {
      what: "memory, after the load",
      ours: mb(idle("steplog", "loadedBytes")),
      theirs: mb(idle("kafka", "loadedBytes")),
      unit: "MB",
      ratio: 0.1,
    },
    {
      what: "start until ready, less waiting for a core",
      ours: idle("steplog", "readyMs"),
      theirs: idle("kafka", "readyMs"),
      unit: "ms",
      most: 50,
    },
  );
  return rows;
}
