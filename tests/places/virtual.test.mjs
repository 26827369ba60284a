// Every experiment on the virtual clock: in the debug and the release build, and in the page's wasm under Node. One seed
// gives one trace in all of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, experiments, run, runInWasm, SEEDS } from "../experiments.mjs";

test("there are experiments", () => assert.ok(experiments.includes("acks-0")));

// Chance is in the links and in what clients draw before they speak: without a frame one seed is like the other.
const silent = new Set(["config-errors"]);

for (const name of experiments) {
  for (const seed of SEEDS) {
    test(`${name}, seed ${seed}: the facts hold, and debug, release and wasm give one trace`, async () => {
      const release = await run("release", name, "--seed", seed);
      assert.equal(release.code, 0, release.stderr);
      assert.deepEqual(broken(release.report), []);
      const debug = await run("debug", name, "--seed", seed);
      assert.equal(debug.report?.trace_hash, release.report.trace_hash, debug.stderr);
      const wasm = await runInWasm(name, seed);
      assert.equal(wasm.hash, release.report.trace_hash);
      // The page shows lists as text; their equality is the trace's.
      const plain = (facts) =>
        facts.map(({ name, value, holds }) => [name, Array.isArray(value) ? null : value, holds]);
      const lists = new Set(release.report.facts.filter(({ value }) => Array.isArray(value)).map(({ name }) => name));
      assert.deepEqual(
        plain(wasm.facts.map((fact) => (lists.has(fact.name) ? { ...fact, value: [] } : fact))),
        plain(release.report.facts),
      );
    });
  }
  test(`${name}: another seed gives another trace, if a client says anything at all`, async () => {
    const runs = await Promise.all(SEEDS.map((seed) => run("release", name, "--seed", seed)));
    assert.equal(new Set(runs.map(({ report }) => report.trace_hash)).size, silent.has(name) ? 1 : SEEDS.length);
  });
}
