// Every experiment on the virtual clock: in the debug and the release build, and in the page's wasm under Node. One seed
// gives one trace in all of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, experiments, run, runInWasm, SEEDS } from "../experiments.mjs";

test("there are experiments", () => assert.ok(experiments.includes("acks-0")));

for (const name of experiments) {
  for (const seed of SEEDS) {
    test(`${name}, seed ${seed}: the facts hold, and debug, release and wasm give one trace`, async () => {
      const release = run("release", name, "--seed", seed);
      assert.equal(release.code, 0, release.stderr);
      assert.deepEqual(broken(release.report), []);
      assert.equal(run("debug", name, "--seed", seed).report.trace_hash, release.report.trace_hash);
      const wasm = await runInWasm(name, seed);
      assert.equal(wasm.hash, release.report.trace_hash);
      assert.deepEqual(
        wasm.facts.map(({ name, value }) => [name, value]),
        release.report.facts.map(({ name, value }) => [name, value]),
      );
    });
  }
  test(`${name}: another seed gives another trace`, () => {
    const hashes = SEEDS.map((seed) => run("release", name, "--seed", seed).report.trace_hash);
    assert.equal(new Set(hashes).size, SEEDS.length);
  });
}
