// What the page costs: bytes on the wire, and how fast the engine runs and seeks in wasm, measured under Node.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { engineFor, experiments } from "../experiments.mjs";
import { root } from "../install.mjs";

const gzippedKb = (path) => gzipSync(readFileSync(path), { level: 9 }).length / 1024;

/** CPU time, since what else runs on the machine is no cost of ours. */
function milliseconds(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const RUNS = 11;

export async function pageRows() {
  const pkg = join(root, "www/pkg");
  const dist = join(root, "www/dist");
  const scripts = readdirSync(dist, { recursive: true }).filter((file) => /^(assets\/)?[^/]+\.js$/.test(file));
  if (scripts.length === 0) throw new Error("www/dist has no script: npm run build makes it");
  const rows = [
    { what: "wasm, gzipped", ours: gzippedKb(join(pkg, "steplog_bg.wasm")), unit: "KB", most: 300 },
    { what: "codecs' wasm, gzipped, loaded if named", ours: gzippedKb(join(pkg, "codecs_bg.wasm")), unit: "KB" },
    {
      what: "script, gzipped",
      ours: scripts.map((file) => gzippedKb(join(dist, file))).reduce((a, b) => a + b, 0),
      unit: "KB",
      most: 60,
    },
  ];
  for (const name of experiments) {
    const bytes = readFileSync(join(root, `www/public/experiments/${name}.bin`));
    const { Lab } = await engineFor(bytes);
    const load = () => new Lab(bytes, 1n);
    const run = () => milliseconds(() => load().free());
    rows.push({ what: `${name}: the first run in wasm, not optimised yet`, ours: run(), unit: "ms" });
    const runs = Array.from({ length: 2 * RUNS }, run).slice(RUNS); // the first half while V8 still compiles
    rows.push({
      what: `${name}: the whole run in wasm`,
      ours: median(runs),
      unit: "ms",
      ...(name === "acks-0" && { most: 30 }),
    });
    const lab = load();
    const { startUs, endUs } = lab.meta();
    const seeks = Array.from({ length: 101 }, (_, i) =>
      milliseconds(() => lab.seek(startUs + Math.round((((i * 37) % 101) / 100) * (endUs - startUs)))),
    );
    rows.push({ what: `${name}: slowest of 101 seeks`, ours: Math.max(...seeks), unit: "ms", most: 16 });
    lab.free();
  }
  return rows;
}
