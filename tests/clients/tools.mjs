// Apache Kafka 4.3.0's own tools against our broker and its files.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../install.mjs";
import { oracleHome } from "../processes.mjs";

const SECONDS = 60;

/** Runs a tool and gives what it printed; its complaints are in the error. */
function tool(name, args, input) {
  const result = spawnSync(join(root, "tests/oracle/kafka"), ["tool", name, ...args], {
    env: { ...process.env, ORACLE_HOME: oracleHome(), ORACLE_PORT: "0", ORACLE_LOG: "ERROR" },
    input,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    timeout: SECONDS * 1000,
  });
  if (result.status !== 0)
    throw new Error(`${name} ${args.join(" ")} ended with ${result.status}: ${result.stderr}${result.stdout}`.trim());
  return result.stdout;
}

/** Each tool with what its output must match. */
export function* toolRows(bootstrap, directory) {
  const at = ["--bootstrap-server", bootstrap];
  const row = (what, wanted, run) => {
    try {
      const told = run();
      const missing = [wanted].flat().filter((pattern) => !pattern.test(told));
      return missing.length === 0 ? { what } : { what, error: `${missing.join(", ")} is not in: ${told}` };
    } catch (error) {
      return { what, error: error.message };
    }
  };
  const topic = ["--topic", "tools"];
  const lines = Array.from({ length: 1000 }, (_, i) => `k${i % 10}:line ${i}`);
  yield row("topics --create", /Created topic tools/, () =>
    tool("topics", [...at, "--create", ...topic, "--partitions", "1", "--config", "segment.bytes=1048576"]),
  );
  yield row("topics --list", /^tools$/m, () => tool("topics", [...at, "--list"]));
  yield row("topics --describe", [/PartitionCount: 1\b/, /Leader: 1\s+Replicas: 1\s+Isr: 1\b/], () =>
    tool("topics", [...at, "--describe", ...topic]),
  );
  yield row("console-producer", /^$/, () =>
    tool(
      "console-producer",
      [
        ...at,
        ...topic,
        "--reader-property",
        "parse.key=true",
        "--reader-property",
        "key.separator=:",
        "--compression-codec",
        "none",
      ],
      `${lines.join("\n")}\n`,
    ).replace(/[>\s]/g, ""),
  );
  yield row("console-consumer", /^$/, () => {
    const args = [...at, ...topic, "--partition", "0", "--offset", "earliest", "--max-messages", "1000"];
    const read = tool("console-consumer", [...args, "--timeout-ms", "20000"]).trim();
    return read === lines.map((line) => line.replace(/^.*?:/, "")).join("\n") ? "" : read;
  });
  yield row("get-offsets", /^tools:0:1000$/m, () => tool("get-offsets", [...at, ...topic]));
  yield row("get-offsets --time earliest", /^tools:0:0$/m, () =>
    tool("get-offsets", [...at, ...topic, "--time", "earliest"]),
  );
  yield row("topics --alter", /PartitionCount: 3\b/, () => {
    tool("topics", [...at, "--alter", ...topic, "--partitions", "3"]);
    return tool("topics", [...at, "--describe", ...topic]);
  });
  const entity = ["--entity-type", "topics", "--entity-name", "tools"];
  yield row("configs --alter", /Completed updating config/, () =>
    tool("configs", [...at, "--alter", ...entity, "--add-config", "retention.ms=123456"]),
  );
  yield row("configs --describe", /retention\.ms=123456/, () => tool("configs", [...at, "--describe", ...entity]));
  yield row("configs --describe --all, broker", /log\.segment\.bytes=/, () =>
    tool("configs", [...at, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1"]),
  );
  yield row("producer-perf", /20000 records sent/, () =>
    tool("producer-perf", [
      ...["--topic", "tools", "--num-records", "20000", "--record-size", "100", "--throughput", "-1"],
      ...["--producer-props", `bootstrap.servers=${bootstrap}`],
    ]),
  );
  yield row("log-dirs --describe", /"partition":"tools-0"/, () =>
    tool("log-dirs", [...at, "--describe", "--topic-list", "tools"]),
  );
  yield row("cluster cluster-id", /Cluster ID: \S{22}/, () => tool("cluster", ["cluster-id", ...at]));
  yield row("features describe", /metadata\.version/, () => tool("features", [...at, "describe"]));
  yield row("dump-log on our files", [/baseOffset: 0 .* isvalid: true/, /payload: line 999/], () => {
    const folder = join(directory, "tools-0");
    const files = readdirSync(folder).filter((file) => /^\d+\.(log|index|timeindex|snapshot)$/.test(file));
    const paths = files.map((file) => join(folder, file)).join(",");
    const told = tool("dump-log", ["--files", paths, "--print-data-log", "--deep-iteration"]);
    if (/isvalid: false|Mismatches|not found|Non-consecutive/.test(told)) throw new Error(told.slice(0, 2000));
    return told;
  });
  yield row("dump-log on our metadata log", /TOPIC_RECORD.*tools/, () =>
    tool("dump-log", [
      "--cluster-metadata-decoder",
      ...["--files", join(directory, "__cluster_metadata-0/00000000000000000000.log")],
    ]),
  );
  yield row("topics --delete", /^$/, () => {
    tool("topics", [...at, "--delete", ...topic]);
    return /^tools$/m.test(tool("topics", [...at, "--list"])) ? "tools is still listed" : "";
  });
}
