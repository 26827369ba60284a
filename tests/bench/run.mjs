// `npm run bench`: DESIGN's budgets, measured. Prints ratios beside Apache Kafka 4.3.0; nothing here can fail a test.
//   --runs N      alternated runs of each broker (5)
//   --records N   records a run (1000000)
//   --only engine|native|page
//   --loads NAME,NAME…   of the native part: 1KB, 12partitions, 100B, 100KB, gzip, snappy, lz4, zstd (all)
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import * as install from "../install.mjs";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    records: { type: "string", default: "1000000" },
    only: { type: "string" },
    loads: { type: "string" },
  },
});
install.rust();
install.packages();
const build = (...command) => {
  if (spawnSync(command[0], command.slice(1), { cwd: install.root, stdio: "inherit" }).status !== 0) process.exit(1);
};

const wants = (what) => values.only === undefined || values.only === what;
const rows = [];
if (wants("page")) {
  build("node", "www/build.mjs");
  const { pageRows } = await import("./page.mjs");
  rows.push(...(await pageRows()));
}
if (wants("engine")) {
  build("cargo", "build", "--release", "--example", "engine-speed");
  const { engineRows } = await import("./engine.mjs");
  rows.push(...engineRows());
}
if (wants("native")) {
  install.java();
  build("cargo", "build", "--release", "--bin", "steplog");
  const { loadNames, nativeRows } = await import("./native.mjs");
  const names = values.loads?.split(",") ?? loadNames;
  const unknown = names.filter((name) => !loadNames.includes(name));
  if (unknown.length > 0) {
    console.error(`no load called ${unknown.join(", ")}; there are ${loadNames.join(", ")}`);
    process.exit(2);
  }
  rows.push(...(await nativeRows({ runs: Number(values.runs), records: Number(values.records), names })));
}

const number = (value) => (value === undefined ? "" : value.toPrecision(3));
console.table(
  Object.fromEntries(
    rows.map(({ what, ours, theirs, unit, ratio, most, least }) => {
      const meets =
        ratio !== undefined
          ? ours / theirs <= ratio
          : most !== undefined
            ? ours <= most
            : least !== undefined
              ? ours >= least
              : undefined;
      const goal =
        ratio !== undefined
          ? `≤ ${ratio} ×`
          : most !== undefined
            ? `≤ ${most} ${unit}`
            : least !== undefined
              ? `≥ ${least} ${unit}`
              : "";
      return [
        what,
        {
          steplog: `${number(ours)} ${unit}`,
          "Kafka 4.3.0": theirs === undefined ? "" : `${number(theirs)} ${unit}`,
          ratio: theirs === undefined ? "" : number(ours / theirs),
          goal,
          met: meets === undefined ? "" : meets ? "yes" : "NO",
        },
      ];
    }),
  ),
);
