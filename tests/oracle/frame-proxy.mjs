// A proxy between Kafka's client and Kafka's broker that knows frames, for recording what an experiment's frame faults do to
// Kafka itself: hold, cut before, cut after, send again, as tests/experiments/README.md says.
import { connect, createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

/** Where a request's fields are, behind its size. */
const API_KEY = 4;
const CORRELATION_ID = 8;
const CLIENT_ID = 12;
/** And a response's. */
const ANSWERED_ID = 4;

/** `faults` are the values of `Frame` in `steplog list --json`; frames are counted from `begin()` on. */
export async function frameProxy(faults, brokerPort) {
  const traps = faults.map((fault) => ({ ...fault, seen: 0 }));
  if (traps.some((trap) => trap.from.At === undefined))
    throw new Error("a frame fault that waits for a condition cannot be recorded");
  let begun = Infinity;
  /** What befalls this frame: an action and, in milliseconds, how long it takes. */
  const befalls = (direction, { client, apiKey }) => {
    const now_us = (Date.now() - begun) * 1000;
    const fits = traps.filter(
      (trap) =>
        trap.direction === direction && trap.client === client && trap.api_key === apiKey && now_us >= trap.from.At,
    );
    for (const trap of fits) trap.seen += 1;
    const action = fits.find((trap) => trap.seen === trap.nth)?.action;
    if (action === undefined || typeof action === "string") return [action, 0];
    const [[name, us]] = Object.entries(action);
    return [name, us / 1000];
  };
  const server = createServer((client) => carry(client, connect(brokerPort, "127.0.0.1"), befalls));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: server.address().port, begin: () => (begun = Date.now()), close: () => server.close() };
}

/** Carries one connection's frames until a cut stops it. */
function carry(client, broker, befalls) {
  /** Requests by correlation id. */
  const asked = new Map();
  let stopped = false;
  const close = () => [client, broker].forEach((end) => end.end());
  const stop = async (silence_ms) => {
    stopped = true;
    await wait(silence_ms);
    close();
  };
  for (const end of [client, broker])
    end
      .on("error", () => {})
      .on("close", close)
      .setNoDelay(true);

  inOrder(client, async (frame) => {
    if (stopped) return;
    const length = frame.readInt16BE(CLIENT_ID);
    const name = frame.toString("utf8", CLIENT_ID + 2, CLIENT_ID + 2 + length);
    const request = { client: name, apiKey: frame.readInt16BE(API_KEY), answers: 0 };
    asked.set(frame.readInt32BE(CORRELATION_ID), request);
    const [action, ms] = befalls("Request", request);
    if (action === "Hold") await wait(ms);
    if (action === "CutBefore") return stop(ms);
    if (action === "SendAgain") broker.write(frame);
    broker.write(frame);
    if (action === "CutAfter") {
      // It is to have taken effect: the broker's answer says so, and goes no further.
      stopped = true;
      request.answered = () => stop(ms);
    }
  });
  inOrder(broker, async (frame) => {
    const request = asked.get(frame.readInt32BE(ANSWERED_ID));
    request.answers += 1;
    if (request.answered) return request.answered();
    if (stopped || request.answers > 1) return;
    const [action, ms] = befalls("Response", request);
    if (action === "Hold") await wait(ms);
    if (action === "CutBefore") return stop(ms);
    client.write(frame);
    if (action === "CutAfter") await stop(ms);
  });
}

/** Cuts what comes into frames; each waits for those before it. */
function inOrder(socket, handle) {
  let buffered = Buffer.alloc(0);
  let before = Promise.resolve();
  socket.on("data", (bytes) => {
    buffered = Buffer.concat([buffered, bytes]);
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readInt32BE(0)) {
      const frame = buffered.subarray(0, 4 + buffered.readInt32BE(0));
      buffered = buffered.subarray(frame.length);
      before = before.then(() => handle(frame));
    }
  });
}
