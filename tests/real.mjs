// `npm run test:real`: every experiment with real processes. It takes as long as the experiments last.
import { spawnSync } from "node:child_process";
import { broken, experiments, run } from "./experiments.mjs";
import * as install from "./install.mjs";

install.rust();
const build = spawnSync("cargo", ["build", "--release", "--bin", "steplog"], { cwd: install.root, stdio: "inherit" });
if (build.status !== 0) process.exit(1);

let failed = 0;
for (const name of experiments) {
  const { code, report, stderr } = await run("release", name, "--real");
  const why = code === 0 ? "" : `exit ${code}: ${report ? broken(report).join("; ") : stderr.trim()}`;
  if (code !== 0) failed += 1;
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} ${why}`);
}
console.log(`${experiments.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
