// Runs the checks of the project one after the other, shows what they print, and sums up what they counted.
import { spawn } from "node:child_process";
import { root } from "./install.mjs";

/** What the runners that we use print at their end, as [passed, failed] of one match. */
const COUNTS = [
  { of: /^test result: \w+\. (\d+) passed; (\d+) failed/gm, read: (m) => [Number(m[1]), Number(m[2])] }, // cargo, wasm-bindgen-test
  { of: /^(?:#|ℹ) pass (\d+)$/gm, read: (m) => [Number(m[1]), 0] }, // node --test
  { of: /^(?:#|ℹ) fail (\d+)$/gm, read: (m) => [0, Number(m[1])] },
  { of: /^ +(\d+) passed \(/gm, read: (m) => [Number(m[1]), 0] }, // playwright
  { of: /^ +(\d+) failed$/gm, read: (m) => [0, Number(m[1])] },
  { of: /^(\d+) passed, (\d+) failed$/gm, read: (m) => [Number(m[1]), Number(m[2])] }, // our own programs
];

function run(command, args, env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, FORCE_COLOR: "0", NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const take = (to) => (chunk) => {
      output += chunk;
      to.write(chunk);
    };
    child.stdout.on("data", take(process.stdout));
    child.stderr.on("data", take(process.stderr));
    child.on("error", (error) => resolve({ code: 127, output: String(error) }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * A check is `{ name, command: [program, ...args], env?, counts? }`; `env()` is asked when its turn comes. With `counts` its output must hold a runner's
 * closing line, and those tests are counted; without, the check itself counts as one.
 */
export async function runAll(checks) {
  let passed = 0;
  let failed = 0;
  const failures = [];
  for (const { name, command, env, counts } of checks) {
    const started = Date.now();
    console.log(`\n── ${name}: ${command.join(" ")}`);
    const { code, output } = await run(command[0], command.slice(1), await env?.());
    let [ok, bad] = [0, 0];
    if (counts)
      for (const { of, read } of COUNTS)
        for (const match of output.matchAll(of)) {
          const [a, b] = read(match);
          ok += a;
          bad += b;
        }
    else ok = code === 0 ? 1 : 0;
    // A runner that failed without counting a failure (it did not compile, it crashed), or counted nothing at all.
    if (bad === 0 && (code !== 0 || ok === 0)) bad = 1;
    passed += ok;
    failed += bad;
    if (bad > 0) failures.push(name);
    console.log(`── ${name}: ${ok} passed, ${bad} failed in ${Math.round((Date.now() - started) / 1000)} s`);
  }
  if (failures.length > 0) console.log(`\nfailed: ${failures.join("; ")}`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
