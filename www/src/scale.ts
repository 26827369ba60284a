// The diagram's time scale: owns where an instant lies, in pixels below the run's beginning, and the way back.
// In: the beats of a run (instants at which something is drawn). Out: pixels, instants, quiet stretches, ticks.
//
// Between two beats the distance grows quickly and then hardly any more: g µs take GAP_PX · g / (g + HALF_US) pixels. So a frame's
// half millisecond is a visible slope, twenty milliseconds are a step, and fifteen seconds of silence are not taller than one line.
// The scale depends on the run alone, never on the window, so nothing that has been drawn moves while the run plays.

/** What the longest gap approaches. */
const GAP_PX = 62;
/** A gap of this length takes half of it. */
const HALF_US = 2_000;
/** From here a gap counts as quiet and is drawn as a break. */
export const QUIET_US = 100_000;
/** Labels of the time axis keep this distance. */
const TICK_PX = 44;

export interface Quiet {
  fromUs: number;
  /** The beat that ends it; Infinity after the last. */
  toUs: number;
  y: number;
}

export interface Tick {
  us: number;
  y: number;
}

export class Scale {
  readonly #beats: Float64Array;
  readonly #ys: Float64Array;
  readonly #quiet: Quiet[] = [];
  readonly #ticks: Tick[] = [];

  constructor(beats: Float64Array) {
    this.#beats = beats;
    this.#ys = new Float64Array(beats.length);
    let y = 0;
    let tickY = -Infinity;
    beats.forEach((us, index) => {
      const previous = beats[index - 1] ?? us;
      if (us - previous >= QUIET_US) this.#quiet.push({ fromUs: previous, toUs: us, y });
      y += gapPixels(us - previous);
      this.#ys[index] = y;
      if (y - tickY >= TICK_PX) {
        this.#ticks.push({ us, y });
        tickY = y;
      }
    });
    this.#quiet.push({ fromUs: beats.at(-1) ?? 0, toUs: Infinity, y });
  }

  toY(us: number): number {
    const index = this.#last(this.#beats, us);
    if (index < 0) return 0;
    return (this.#ys[index] ?? 0) + gapPixels(us - (this.#beats[index] ?? us));
  }

  /** The inverse of `toY`, to the µs, never past the last beat. */
  toUs(y: number): number {
    const index = this.#last(this.#ys, y);
    const beat = this.#beats[Math.max(index, 0)] ?? 0;
    if (index < 0 || index + 1 >= this.#beats.length) return beat;
    const rest = Math.min(y - (this.#ys[index] ?? 0), GAP_PX - 0.001);
    return Math.min(beat + Math.round((HALF_US * rest) / (GAP_PX - rest)), this.#beats[index + 1] ?? beat);
  }

  quietBetween(fromUs: number, toUs: number): Quiet[] {
    return this.#quiet.filter((quiet) => quiet.toUs >= fromUs && quiet.fromUs + QUIET_US <= toUs);
  }

  ticksBetween(fromUs: number, toUs: number): Tick[] {
    return this.#ticks.filter((tick) => tick.us >= fromUs && tick.us <= toUs);
  }

  /** Index of the last value that is not above `wanted`, −1 if there is none. */
  #last(values: Float64Array, wanted: number): number {
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((values[middle] ?? Infinity) <= wanted) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function gapPixels(us: number): number {
  return us <= 0 ? 0 : (GAP_PX * us) / (us + HALF_US);
}
