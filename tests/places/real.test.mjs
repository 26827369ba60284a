// With real processes, ports, files, clock and signals: hello, and one experiment of each part of the project: an outage, and
// frames that a proxy cuts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { broken, run } from "../experiments.mjs";

for (const name of ["hello", "acks-0", "reorder"])
  test(`${name} --real: the structural facts hold`, async () => {
    const { code, report, stderr } = await run("release", name, "--real");
    assert.equal(code, 0, stderr);
    assert.deepEqual(broken(report), []);
    assert.equal(report.place, "real");
  });
