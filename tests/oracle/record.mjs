// Makes a file of tests/oracle/facts: what Apache Kafka's own client is told. Either it runs an experiment, and the file
// holds that experiment's programs and what each run of them measured. Or it is one of the four outages, whose programs are
// older than that: then the file's `setup` says what is done, and its sentences are kept; `observed`, `stable`, `varying`
// and `texts` are measured anew.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { experiments, listed } from "../experiments.mjs";
import { root } from "../install.mjs";
import { javaCommand, oracle, oracleHome } from "../processes.mjs";
import { hook, runWithKafkaClient } from "./kafka-client.mjs";

const FACTS = join(root, "tests/oracle/facts");
const TOPIC = "outage";
const RUNS = 3;
/** The chapter's outage, in ms since the first send(). */
const KILL_AT = 3000;
const START_AT = 6500;

const path = (name) => join(FACTS, `${name}.json`);
const read = (name) => JSON.parse(readFileSync(path(name), "utf8"));
const isOutage = (name) => existsSync(path(name)) && read(name).setup?.sends !== undefined;

/** Every experiment, and the files that tell how many sends are made, and how often. */
export function recordable() {
  const names = readdirSync(FACTS).flatMap((file) => /^(.+)\.json$/.exec(file)?.[1] ?? []);
  return [...new Set([...experiments, ...names.filter(isOutage)])].sort();
}

/** Runs it `RUNS` times on fresh clusters and writes the file. */
export async function record(name, port) {
  await (isOutage(name) ? recordOutage(name, port) : recordExperiment(name, port));
  console.log(`wrote tests/oracle/facts/${name}.json`);
}

async function recordExperiment(name, port) {
  const experiment = listed(name);
  const observed = [];
  for (let run = 1; run <= RUNS; run += 1) {
    observed.push({ run, ...(await runWithKafkaClient(experiment, port)) });
    const { sends, elapsed_ms } = observed.at(-1);
    const failed = sends.filter((sent) => sent.error_class !== null).length;
    console.log(`run ${run} of ${RUNS}: ${sends.length} sent, ${failed} failed, ${elapsed_ms} ms`);
  }
  const { nodes, topics, faults } = experiment;
  const clients = experiment.clients.map(({ name, config, lines }) => ({ name, config, lines }));
  // What the chapter says is no recording: it is kept.
  const { book } = existsSync(path(name)) ? read(name) : {};
  const file = {
    experiment: name,
    kafka: "4.3.0",
    ...(book && { book }),
    ran: { nodes, topics, clients, faults },
    observed,
  };
  writeFileSync(path(name), `${inLines(file)}\n`);
}

/** JSON in which what fits into a line stands in one: a send, a step, a batch. */
function inLines(value, indent = "") {
  const flat = JSON.stringify(value);
  if (flat.length <= 400 || value === null || typeof value !== "object") return flat;
  const deeper = `${indent} `;
  const lines = Array.isArray(value)
    ? value.map((element) => inLines(element, deeper))
    : Object.entries(value).map(([key, element]) => `${JSON.stringify(key)}: ${inLines(element, deeper)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${deeper}${lines.join(`,\n${deeper}`)}\n${indent}${close}`;
}

async function recordOutage(name, port) {
  const file = read(name);
  const observed = [];
  for (let run = 1; run <= RUNS; run += 1) {
    const summary = { run, ...(await outage(file.setup, port)) };
    observed.push(summary);
    console.log(
      `run ${run} of ${RUNS}: ok ${summary.ok}, failed ${summary.failed}, landed ${summary.landed}, ` +
        `serving at ${summary.port_back_at_ms} ms, elapsed ${summary.elapsed_ms} ms`,
    );
  }
  const { stable, varying } = compare(observed);
  for (const key of new Set([...Object.keys(file.stable), ...Object.keys(stable)])) {
    const [before, after] = [file.stable[key], stable[key]].map((value) => JSON.stringify(value) ?? "not stable");
    if (before !== after) console.log(`stable ${key}: was ${before}, is ${after}`);
  }
  const texts = {};
  for (const { class: thrown, message } of observed.flatMap((run) => run.failure_kinds))
    texts[thrown] = [...new Set([...(texts[thrown] ?? []), message])].sort();
  writeFileSync(path(name), JSON.stringify({ ...file, observed, stable, varying, texts }, null, 1));
}

/** One run: a fresh cluster, the program, the two faults; what came of it. */
async function outage(setup, port) {
  const settings = Object.entries(setup.client).filter(([key]) => key.includes(".") || key === "acks");
  const address = oracle(oracleHome(), port, "up", "1");
  const pairs = settings.map(([key, value]) => `${key}=${value}`);
  const args = [address, TOPIC, setup.sends, setup.interval_ms, ...pairs].map(String);
  const child = spawn(...javaCommand("tests/oracle/programs/Outage.java", ...args), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = () => child.kill("SIGKILL");
  process.on("exit", end);
  let output = "";
  const steps = [];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const before = /^begin/m.test(output);
    output += text;
    const begin = /^begin (\d+)$/m.exec(output);
    if (before || !begin) return;
    const at = (planned, ...step) => {
      const due = Number(begin[1]) + planned - Date.now();
      setTimeout(async () => {
        const start = Date.now() - Number(begin[1]);
        await hook(port, ...step);
        const end = Date.now() - Number(begin[1]);
        steps.push({ planned_ms: planned, step: `kafka ${step.join(" ")}`, start_ms: start, end_ms: end });
      }, due);
    };
    at(KILL_AT, "kill", "1");
    at(START_AT, "start", "1");
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  process.off("exit", end);
  if (code !== 0) throw new Error(`tests/oracle/programs/Outage.java ended with ${code}: ${output}`);
  const told = JSON.parse(output.trim().split("\n").at(-1));
  const landedByDumpLog = dumpedRecords(port);
  oracle(oracleHome(), port, "down");
  return { ...summary(told), ...faults(steps), landed_by_dump_log: landedByDumpLog };
}

/** The number of records in the topic's file, as Kafka's own tool counts them. */
function dumpedRecords(port) {
  const log = join(oracleHome(), `${port}/b1/${TOPIC}-0/00000000000000000000.log`);
  const dump = oracle(oracleHome(), port, "tool", "dump-log", "--files", log);
  return [...dump.matchAll(/\bcount: (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}

function faults(steps) {
  const [kill, start] = steps;
  return {
    steps,
    killed_at_ms: kill.end_ms,
    restart_command_at_ms: start.start_ms,
    port_back_at_ms: start.end_ms,
  };
}

/** Every figure of a run, from what each send() was told and what is in the log. */
function summary({ sends, landed, sends_done_ms, elapsed_ms }) {
  const ok = sends.filter((sent) => sent.error_class === null);
  const failed = sends.filter((sent) => sent.error_class !== null);
  const ids = (list) => list.map(({ id }) => id);
  const offsets = ok.map(({ offset }) => offset);
  const inLog = new Set(landed);
  const lost = ids(ok).filter((id) => !inLog.has(id));
  const failedButLanded = ids(failed).filter((id) => inLog.has(id));
  const [firstFailed, lastFailed] = [failed.at(0)?.id ?? null, failed.at(-1)?.id ?? null];
  return {
    sent: sends.length,
    ok: ok.length,
    failed: failed.length,
    ok_offset_minus_one: offsets.filter((offset) => offset === -1).length,
    ok_has_offset: offsets.filter((offset) => offset >= 0).length,
    ok_offset_min: Math.min(...offsets),
    ok_offset_max: Math.max(...offsets),
    failed_with_offset_other_than_minus_one: failed.filter(({ offset }) => offset !== -1).length,
    first_failed_id: firstFailed,
    last_failed_id: lastFailed,
    last_ok_id_before_first_failed: ids(ok).findLast((id) => firstFailed === null || id < firstFailed) ?? null,
    first_ok_id_after_last_failed: ids(ok).find((id) => lastFailed !== null && id > lastFailed) ?? null,
    ok_ids: ranges(ids(ok)),
    failed_ids: ranges(ids(failed)),
    failure_kinds: failureKinds(failed),
    failures: failed.map(({ id, send_ms, blocked_ms, callback_ms, in_send_call, error_message }) => {
      return { id, send_ms, blocked_ms, callback_ms, in_send_call, message: withoutTopic(error_message) };
    }),
    send_blocked_over_200ms: sends
      .filter(({ blocked_ms }) => blocked_ms > 200)
      .map(({ id, send_ms, blocked_ms, error_class }) => ({ id, send_ms, blocked_ms, ok: error_class === null })),
    sends_done_ms,
    elapsed_ms,
    slowest_ok_callback_ms: Math.max(...ok.map(({ send_ms, callback_ms }) => callback_ms - send_ms)),
    landed: landed.length,
    landed_ids: ranges(landed),
    landed_duplicate_ids: [...new Set(landed.filter((id, at) => landed.indexOf(id) !== at))],
    lost_silently: lost.length,
    lost_ids: ranges(lost),
    failed_but_landed: failedButLanded.length,
    failed_but_landed_ids: ranges(failedButLanded),
    order_inversions: landed.filter((id, at) => at > 0 && id < landed[at - 1]).length,
    expired_batches_by_record_count: expiredBatches(failed),
  };
}

const withoutTopic = (message) => message.replaceAll(TOPIC, "{topic}");

/** Failures with one text, whatever numbers stand in it. */
function failureKinds(failed) {
  const kinds = new Map();
  for (const { id, error_class, error_message } of failed) {
    const example = withoutTopic(error_message);
    const message = example.replace(/^Expiring \d+ (record.*):\d+ ms/, "Expiring {n} $1:{age} ms");
    const kind = kinds.get(`${error_class} ${message}`) ?? { class: error_class, message, example, ids: [] };
    kind.ids.push(id);
    kinds.set(`${error_class} ${message}`, kind);
  }
  return [...kinds.values()].map(({ ids, ...kind }) => ({ records: ids.length, ...kind, ids: ranges(ids) }));
}

/** `5 of 1, 1 of 31`: five batches of one record and one of 31 expired. Each record tells the size of its batch. */
function expiredBatches(failed) {
  const sizes = failed.flatMap(({ error_message }) => Number(/^Expiring (\d+) /.exec(error_message)?.[1] ?? []));
  const records = (size) => sizes.filter((other) => other === size).length;
  const distinct = [...new Set(sizes)].sort((a, b) => a - b);
  return distinct.map((size) => `${records(size) / size} of ${size}`).join(", ");
}

/** `0-141,145-399`. */
function ranges(ids) {
  const parts = [];
  for (const id of [...new Set(ids)].sort((a, b) => a - b)) {
    if (parts.at(-1)?.[1] === id - 1) parts.at(-1)[1] = id;
    else parts.push([id, id]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** The plain figures: those that are equal in all runs, and of the others [least, most], or every text seen. */
function compare(observed) {
  const [stable, varying] = [{}, {}];
  const isPlain = (value) => value === null || typeof value !== "object";
  for (const key of Object.keys(observed[0]).filter((key) => key !== "run" && isPlain(observed[0][key]))) {
    const values = observed.map((run) => run[key]);
    if (values.every((value) => value === values[0])) stable[key] = values[0];
    else if (values.every((value) => typeof value === "number"))
      varying[key] = [Math.min(...values), Math.max(...values)];
    else varying[key] = [...new Set(values.map(String))].sort();
  }
  return { stable, varying };
}
