// `npm run test:clients [-- CLIENT…]`: clients that share no code with us produce to our broker, read back, and
// administer it. README.md says what each is asked. `--binary PATH` takes another build of ours.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as install from "../install.mjs";
import { startSteplog, steplog, temporaryDirectory } from "../processes.mjs";
import { VERSIONS, confluentKafka, franzGo, javaClient, kafkajs } from "./installed.mjs";
import { kcatRecords, kcatRows, readByKcat, topics } from "./kcat.mjs";
import { LARGE, digest, records } from "./records.mjs";
import { toolRows } from "./tools.mjs";

const MINUTES = 5;

const { values, positionals } = parseArgs({
  options: { binary: { type: "string", default: steplog } },
  allowPositionals: true,
});

/** Programs print a line of JSON for each row. */
const program = (command) => (broker, prefix) => {
  const [file, ...args] = command();
  const [script, ...rest] = file === "node" ? args : ["", ...args];
  const all = script ? [script, broker.address, prefix, ...rest] : [...args, broker.address, prefix];
  const result = spawnSync(file, all, { encoding: "utf8", maxBuffer: 1 << 28, timeout: MINUTES * 60_000 });
  const rows = result.stdout.split("\n").filter((line) => line.startsWith("{"));
  const read = rows.map((line) => JSON.parse(line));
  if (result.status !== 0) read.push({ what: "to its end", error: `${result.error ?? ""}${result.stderr}`.trim() });
  return read;
};

const clients = {
  ...Object.fromEntries(
    VERSIONS["kafka-clients"].map((version) => [`kafka-clients ${version}`, program(() => javaClient(version))]),
  ),
  kcat: (broker) => [...kcatRows(broker.address, { large: LARGE })],
  [`confluent-kafka ${VERSIONS["confluent-kafka"]}`]: program(confluentKafka),
  [`kafkajs ${VERSIONS.kafkajs}`]: program(kafkajs),
  [`franz-go ${VERSIONS["franz-go"]}`]: program(franzGo),
  "Kafka's tools": (broker) => [...toolRows(broker.address, broker.directory)],
};
const chosen = Object.keys(clients).filter(
  (name) => positionals.length === 0 || positionals.some((wanted) => name.startsWith(wanted)),
);
const strange = positionals.filter((wanted) => !Object.keys(clients).some((name) => name.startsWith(wanted)));
if (strange.length > 0) {
  console.error(`there is no client ${strange.join(", ")}: there are ${Object.keys(clients).join(", ")}`);
  process.exit(2);
}

install.rust();
install.kcat();
install.java();
if (values.binary === steplog) {
  const build = spawnSync("cargo", ["build", "--release", "--bin", "steplog"], { cwd: install.root, stdio: "inherit" });
  if (build.status !== 0) process.exit(1);
}
const directory = join(temporaryDirectory("clients"), "log");
const broker = await startSteplog({
  binary: values.binary,
  directory,
  args: topics.flatMap((topic) => ["--topic", `${topic}:1`]),
});

/** What must have been read, by what was asked. kafkajs has no null headers, kcat the same header in all records. */
function expected(client, what) {
  const simple = {
    kcat: kcatRecords,
    kafkajs: function* (count) {
      for (const { headers, ...record } of records(count))
        yield { ...record, headers: headers.filter(([, value]) => value !== null) };
    },
  };
  const kind = simple[client.split(" ")[0]] ?? records;
  if (what === "1 MB record") return digest(LARGE);
  return digest(kind(what === "idempotent, 100,000 records" ? 100_000 : 2_000));
}

/** What a row came to: "ok", "–" where the client does not offer it, or what is wrong. */
function judge(client, row) {
  if (row.missing) return { cell: "–" };
  if (row.error !== undefined) return { cell: "FAILED", why: row.error };
  let read = row;
  if (row.topic) {
    const wanted = expected(client, row.what).count;
    if (row.sent !== wanted) return { cell: "FAILED", why: `sent ${row.sent} of ${wanted} records` };
    read = readByKcat(broker.address, row.topic);
  }
  if (read.sha256 === undefined) return { cell: "ok" };
  const wanted = expected(client, row.what);
  if (read.count !== wanted.count) return { cell: "FAILED", why: `read ${read.count} of ${wanted.count} records` };
  if (read.sha256 !== wanted.sha256) return { cell: "FAILED", why: "the records read differ from those sent" };
  return { cell: "ok" };
}

/** Columns by spaces, a row for each thing that was asked; nothing if nothing was. */
function printTable(columns, rows) {
  const lines = [
    ["", ...columns],
    ...Object.entries(rows).map(([what, row]) => [what, ...columns.map((c) => row[c] ?? "")]),
  ];
  if (lines.length === 1) return;
  const widths = lines[0].map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  const text = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at]))
      .join("  ")
      .trimEnd(),
  );
  console.log(["", text[0], "─".repeat(Math.max(...text.map((line) => line.length))), ...text.slice(1), ""].join("\n"));
}

const table = {};
const tools = {};
const failures = [];
let passed = 0;
for (const client of chosen) {
  const started = performance.now();
  const rows = clients[client](
    { ...broker, directory },
    client.split(" ")[0].replace("'", "") + chosen.indexOf(client),
  );
  if (rows.length === 0) rows.push({ what: "to its end", error: "it printed nothing" });
  for (const row of rows) {
    const { cell, why } = judge(client, row);
    if (why) failures.push(`${client}, ${row.what}: ${why.replace(/\s+/g, " ").slice(0, 500)}`);
    else if (cell === "ok") passed += 1;
    if (client === "Kafka's tools") tools[row.what] = { "Kafka's tools 4.3.0": cell };
    else (table[row.what] ??= {})[client] = cell;
  }
  console.log(`${client}: ${rows.length} rows in ${Math.round((performance.now() - started) / 1000)} s`);
}
printTable(
  chosen.filter((name) => name !== "Kafka's tools"),
  table,
);
printTable(["Kafka's tools 4.3.0"], tools);
console.log("–: this version of the client has no such call; empty: the client offers none\n");
for (const failure of failures) console.log(`FAILED ${failure}`);
await broker.stop();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
