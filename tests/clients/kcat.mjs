// kcat against our broker, and as the reader of what clients sent that read only in groups.
import { spawnSync } from "node:child_process";
import { digest, records } from "./records.mjs";

const CODECS = ["none", "gzip", "snappy", "lz4", "zstd"];
const ACKS = ["0", "1", "all"];
const MEMORY = 1 << 29;

function kcat(bootstrap, args, input) {
  const result = spawnSync("kcat", ["-b", bootstrap, ...args], { input, maxBuffer: MEMORY, timeout: 60_000 });
  if (result.status !== 0) throw new Error(`kcat ${args.join(" ")}: ${result.stderr || result.error}`);
  return result.stdout.toString();
}

/** Partition 0 from its beginning: number and SHA-256 of the records' lines. */
export function readByKcat(bootstrap, topic) {
  const lines = kcat(bootstrap, ["-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-J"]);
  const read = lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  // Headers come as a flat list of names and values.
  const pairs = (flat = []) => flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : []));
  return digest(read.map(({ key, payload, headers }) => ({ key, value: payload, headers: pairs(headers) })));
}

/** What kcat can say on its command line: an empty key or value is null, and all records have the same header. */
export function* kcatRecords(count) {
  for (const { key, value } of records(count)) yield { key, value, headers: [["h", "1"]] };
}

/** The topics that must be there: kcat makes none. */
export const topics = ["idempotent", "large", ...CODECS.flatMap((codec) => ACKS.map((acks) => `${codec}-${acks}`))].map(
  (name) => `kcat-${name}`,
);

export function* kcatRows(bootstrap, expected) {
  const row = (what, run) => {
    try {
      return { what, ...run() };
    } catch (error) {
      return { what, error: error.message };
    }
  };
  const send = (topic, count, ...settings) => {
    const lines = Array.from(kcatRecords(count), ({ key, value }) => `${key ?? ""}\t${value ?? ""}\n`).join("");
    kcat(bootstrap, ["-P", "-t", topic, "-p", "0", "-K", "\t", "-Z", "-H", "h=1", ...settings], lines);
    return readByKcat(bootstrap, topic);
  };
  yield row("Metadata", () => (kcat(bootstrap, ["-L"]).includes("kcat-large") ? {} : { error: "no topic is listed" }));
  for (const codec of CODECS)
    for (const acks of ACKS)
      yield row(`${codec}, acks=${acks}`, () =>
        send(`kcat-${codec}-${acks}`, 2_000, "-z", codec, "-X", `acks=${acks}`),
      );
  yield row("idempotent, 100,000 records", () => send("kcat-idempotent", 100_000, "-X", "enable.idempotence=true"));
  yield row("1 MB record", () => {
    const { key, value } = expected.large[0];
    const large = ["-X", "message.max.bytes=2000000"];
    kcat(bootstrap, ["-P", "-t", "kcat-large", "-p", "0", "-K", "\t", ...large], `${key}\t${value}\n`);
    return readByKcat(bootstrap, "kcat-large");
  });
  yield row("ListOffsets", () => {
    const told = kcat(bootstrap, ["-Q", "-t", "kcat-none-all:0:-1", "-t", "kcat-none-1:0:-2"]);
    const right = /kcat-none-all \[0\] offset 2000\b/.test(told) && /kcat-none-1 \[0\] offset 0\b/.test(told);
    return right ? {} : { error: told };
  });
}
