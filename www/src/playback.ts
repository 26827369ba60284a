// Playback: owns the one animation loop of a lab. In: a pace and elapsed wall time. Out: the instant to stand at, told to the host.

import type { ReactiveController, ReactiveControllerHost } from "lit";

import type { Scale } from "./scale.js";

/**
 * `even` moves through the diagram at so many pixels a second: whatever happens gets its time, and silence passes quickly.
 * `clock` runs at a multiple of cluster time.
 */
export type Pace = { id: string; kind: "even"; pixelsPerSecond: number } | { id: string; kind: "clock"; ratio: number };

export const PACES: readonly [Pace, ...Pace[]] = [
  { id: "even", kind: "even", pixelsPerSecond: 80 },
  { id: "even-slow", kind: "even", pixelsPerSecond: 26 },
  { id: "even-fast", kind: "even", pixelsPerSecond: 400 },
  { id: "clock-hundredth", kind: "clock", ratio: 0.01 },
  { id: "clock-tenth", kind: "clock", ratio: 0.1 },
  { id: "clock", kind: "clock", ratio: 1 },
  { id: "clock-ten", kind: "clock", ratio: 10 },
];

/** How long a run to the end takes on screen. */
const RUN_MS = 2_400;
/** After a hidden tab or a slow frame, time goes on from where it was instead of leaping. */
const FRAME_MS_MAX = 100;

export interface PlaybackHost extends ReactiveControllerHost {
  readonly us: number;
  readonly endUs: number;
  readonly scale: Scale;
  moveTo(us: number): void;
}

export class Playback implements ReactiveController {
  pace: Pace = PACES[0];
  readonly #host: PlaybackHost;
  #request = 0;
  /** Where the last drawn frame put us, with the fraction of a µs that a slow pace needs. */
  #exact = 0;
  #last = 0;
  #run: { usPerMs: number } | undefined;

  constructor(host: PlaybackHost) {
    this.#host = host;
    host.addController(this);
  }

  hostDisconnected(): void {
    this.pause();
  }

  get playing(): boolean {
    return this.#request !== 0;
  }

  play(): void {
    if (this.#host.us >= this.#host.endUs) this.#host.moveTo(0);
    this.#start();
  }

  /** Passes over everything until the end in a few seconds, or at once for a reader who wants no motion. */
  runToEnd(): void {
    const rest = this.#host.endUs - this.#host.us;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || rest <= 0) {
      this.pause();
      this.#host.moveTo(this.#host.endUs);
      return;
    }
    this.#run = { usPerMs: rest / RUN_MS };
    this.#start();
  }

  pause(): void {
    cancelAnimationFrame(this.#request);
    this.#request = 0;
    this.#run = undefined;
    this.#host.requestUpdate();
  }

  #start(): void {
    cancelAnimationFrame(this.#request);
    this.#exact = this.#host.us;
    this.#last = performance.now();
    this.#request = requestAnimationFrame(this.#frame);
    this.#host.requestUpdate();
  }

  readonly #frame = (now: number): void => {
    const elapsedMs = Math.min(Math.max(now - this.#last, 0), FRAME_MS_MAX);
    this.#last = now;
    this.#exact = this.#after(elapsedMs);
    const end = this.#host.endUs;
    if (this.#exact >= end) {
      this.pause();
      this.#host.moveTo(end);
      return;
    }
    this.#host.moveTo(Math.floor(this.#exact));
    this.#request = requestAnimationFrame(this.#frame);
  };

  #after(elapsedMs: number): number {
    if (this.#run) return this.#exact + elapsedMs * this.#run.usPerMs;
    if (this.pace.kind === "clock") return this.#exact + elapsedMs * 1_000 * this.pace.ratio;
    const y = this.#host.scale.toY(this.#exact) + (elapsedMs * this.pace.pixelsPerSecond) / 1_000;
    // In a long silence a pixel is seconds and rounding could hold us there: always at least a µs on.
    return Math.max(this.#host.scale.toUs(y), this.#exact + 1);
  }
}
