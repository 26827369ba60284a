// How fast the simulator is, as machine code: all experiments, one after the other, on one core.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../install.mjs";

export function engineRows() {
  const { events, seconds } = JSON.parse(
    execFileSync(join(root, "target/release/examples/engine-speed"), { encoding: "utf8" }),
  );
  return [{ what: "engine: events per second and core", ours: events / seconds / 1e6, unit: "M/s", least: 1 }];
}
