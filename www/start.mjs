// `npm start`: builds what changed, serves book and lab, starts a native broker, prints both addresses, and stays up
// until Ctrl-C, which ends both.
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import * as install from "../tests/install.mjs";

install.rust();
install.packages();
const { preview } = await import("vite");
execFileSync("cargo", ["build", "--release", "--bin", "steplog"], { cwd: install.root, stdio: "inherit" });
await import("./build.mjs");

const site = await preview({
  root: join(install.root, "www"),
  preview: { host: "127.0.0.1", port: Number(process.env.PORT ?? 8080) },
  logLevel: "warn",
});
const broker = spawn(
  join(install.root, "target/release/steplog"),
  ["broker", "--memory", "--set", `listeners=PLAINTEXT://127.0.0.1:${process.env.BROKER_PORT ?? 9092}`],
  { stdio: ["ignore", "pipe", "inherit"] },
);

const end = (code) => {
  broker.kill("SIGTERM");
  site.close().finally(() => process.exit(code));
};
process.once("SIGINT", () => end(0));
process.once("SIGTERM", () => end(0));
broker.once("exit", (code) => {
  console.error(`the broker ended with code ${code}; BROKER_PORT=… npm start picks another port`);
  end(1);
});
broker.stdout.setEncoding("utf8").once("data", (line) => {
  const url = site.resolvedUrls.local[0];
  console.log(`book and lab  ${url}`);
  console.log(`broker        ${line.trim().replace(/^ready /, "")}`);
  console.log("Ctrl-C ends both.");
});
