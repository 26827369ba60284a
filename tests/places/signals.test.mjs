// A test that is ended, by Ctrl-C or by CI, leaves nothing behind.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { root } from "../install.mjs";

const program = `
  const { temporaryDirectory } = await import(${JSON.stringify(pathToFileURL(join(root, "tests/processes.mjs")))});
  console.log(temporaryDirectory("signals"));
  setInterval(() => {}, 1000);
`;

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
])
  test(`${signal} removes the directories of a test that it ends`, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const line = await new Promise((resolve) => child.stdout.setEncoding("utf8").once("data", resolve));
    assert.ok(existsSync(line.trim()));
    child.kill(signal);
    assert.equal(await ended, code);
    assert.ok(!existsSync(line.trim()));
  });
