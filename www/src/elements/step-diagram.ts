// The space-time diagram: time runs down, one lane per node, an arrow per frame, a lost one ends half-way in a cross.
// In: one view and the run's scale. Out: the frame that the reader chooses. Draws only; where an instant lies is Scale's.

import { LitElement, html, nothing, svg, type PropertyValues, type SVGTemplateResult, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";

import { command } from "../commands.js";
import { frameLabel, frameSentence, laneName, markSentence } from "../describe.js";
import { FrameKind, Outcome, type Frame, type Meta, type Outage, type View } from "../engine.js";
import { clock, seconds, span } from "../format.js";
import type { Messages } from "../messages/index.js";
import { QUIET_US, type Quiet, type Scale } from "../scale.js";
import { LINE_PX, markLabels, type MarkLabel } from "./mark-labels.js";
import { diagramStyles } from "./step-diagram.css.js";

/** The lane names' height. */
const HEAD_PX = 30;
/** Where "now" stands once the diagram scrolls, as a share of its height. */
const NOW_SHARE = 0.72;
/** Instants above the upper edge that still reach into the window: labels and long arrows. */
const MARGIN_PX = 160;
/** A lost frame is drawn as far as it would have flown in this time; then it waits, unread, for its loss. */
const LOST_FLIGHT_US = 500;
/** A shorter arrow goes without a label. */
const LABEL_FROM_PX = 44;
/** A letter on an arrow, roughly. */
const LETTER_PX = 6.6;
/** And one of a lane's name. */
const NAME_LETTER_PX = 8;
/** Between a lane and a label of its own or of its neighbour. */
const LABEL_GAP_PX = 6;
/** A quiet stretch is drawn so far below the beat that begins it: a label of two lines has room. */
const QUIET_AFTER_PX = 27;
/** Below this width the axis of instants gives way. */
const AXIS_FROM_PX = 560;
/** And below this one the letters are smaller. */
const SMALL_BELOW_PX = 420;
const AXIS_PX = 64;
/** Room for the labels beside the outermost lanes, however narrow the diagram. */
const LABELS_PX = 114;
const LABELS_CROWDED_PX = 84;

@customElement("step-diagram")
export class StepDiagram extends LitElement {
  @property({ attribute: false }) meta!: Meta;
  @property({ attribute: false }) view!: View;
  @property({ attribute: false }) scale!: Scale;
  @property({ attribute: false }) text!: Messages;
  @property({ attribute: false }) selected = -1;
  @property({ type: Boolean }) playing = false;
  @state() private width = 600;
  @state() private height = 440;
  /** When each lane was first seen to take part. */
  readonly #since = new Map<number, number>();
  #xs = new Map<number, number>();
  readonly #labelled = new Set<number>();
  readonly #observer = new ResizeObserver(([entry]) => {
    if (!entry) return;
    this.width = Math.round(entry.contentRect.width);
    this.height = Math.round(entry.contentRect.height);
  });

  static override styles = diagramStyles;

  /** The first instant that a view must hold for a diagram that ends at `us`, however tall it is. */
  static fromUs(scale: Scale, us: number): number {
    return scale.toUs(Math.max(0, scale.toY(us) - 1_200));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("meta")) this.#since.clear();
  }

  protected override firstUpdated(): void {
    const box = this.renderRoot.querySelector(".box");
    if (box) this.#observer.observe(box);
  }

  override render(): TemplateResult {
    const { text, view } = this;
    const chosen = view.frames.some((frame) => frame.id === this.selected);
    return html`<div
      class="box"
      role="listbox"
      tabindex="0"
      aria-label="${text.diagram}. ${text.diagramHelp}"
      aria-busy=${this.playing}
      aria-activedescendant=${chosen ? `frame-${this.selected}` : nothing}
      @keydown=${this.#keys}
    >
      ${this.#picture()} ${this.playing ? nothing : this.#options()}
    </div>`;
  }

  /** What a screen reader meets in place of the picture. */
  #options(): TemplateResult {
    const { meta, view, text } = this;
    return html`<div class="unseen" role="presentation">
      ${repeat(
        view.frames,
        (frame) => frame.id,
        (frame) =>
          html`<div role="option" id="frame-${frame.id}" aria-selected=${frame.id === this.selected}>
            ${frameSentence(meta, frame, view.us, text)}
          </div>`,
      )}
    </div>`;
  }

  #picture(): SVGTemplateResult | TemplateResult {
    this.#lay();
    const { scale, view, height, width } = this;
    const lanes = [...this.#xs.keys()];
    const nowY = scale.toY(view.us);
    const top = Math.max(0, nowY - (height - HEAD_PX) * NOW_SHARE);
    const fromUs = scale.toUs(top - MARGIN_PX);
    const frames = view.frames.filter((frame) => frame.endUs >= fromUs);
    this.#placeLabels(frames);
    const shift = HEAD_PX + 12 - top;
    const bottom = top + height;
    return html`<svg class=${width < SMALL_BELOW_PX ? "small" : ""} width=${width} height=${height} aria-hidden="true">
      <g transform="translate(0 ${shift.toFixed(1)})">
        ${this.#axis(fromUs)} ${lanes.map((lane) => this.#lane(lane, top, nowY, bottom))}
        ${this.meta.outages.map((outage) => this.#outage(outage, top, nowY))}
        ${scale.quietBetween(fromUs, view.us).map((quiet) => this.#quiet(quiet))}
        <line class="now" x1="0" x2=${width} y1=${nowY} y2=${nowY} />
        <text class="now" x=${width - 6} y=${nowY + 15} text-anchor="end">${clock(view.us)}</text>
        ${repeat(
          frames,
          (frame) => frame.id,
          (frame) => this.#frame(frame, nowY),
        )}
        ${this.#labels()}
      </g>
      <rect class="head" width=${width} height=${HEAD_PX} />
      ${lanes.map(
        (lane) =>
          svg`<text class="name" x=${this.#laneX(lane)} y="20" text-anchor="middle">
            <title>${laneName(this.meta, lane, this.text)}</title>
            ${this.#fitted(laneName(this.meta, lane, this.text), NAME_LETTER_PX)}</text>`,
      )}
    </svg>`;
  }

  /** Lanes from left to right: the first client, the servers, the other clients as soon as they take part. */
  #lanes(): number[] {
    const { meta, view } = this;
    for (const { lane, us } of view.marks) this.#takesPart(lane, us);
    for (const { from, to, sentUs } of view.frames) {
      this.#takesPart(from, sentUs);
      this.#takesPart(to, sentUs);
    }
    const all = meta.lanes.map((_, lane) => lane);
    const clients = all.filter((lane) => meta.lanes[lane]?.kind === "client");
    const joined = clients.slice(1).filter((lane) => (this.#since.get(lane) ?? Infinity) <= view.us);
    return [...clients.slice(0, 1), ...all.filter((lane) => meta.lanes[lane]?.kind === "server"), ...joined];
  }

  #takesPart(lane: number, us: number): void {
    this.#since.set(lane, Math.min(us, this.#since.get(lane) ?? Infinity));
  }

  /** Where the lanes stand, from left to right. */
  #lay(): void {
    const axis = this.width >= AXIS_FROM_PX ? AXIS_PX : 0;
    const wide = this.width - axis;
    const lanes = this.#lanes();
    const room = lanes.length > 2 ? LABELS_CROWDED_PX : LABELS_PX;
    const margin = Math.min(Math.max(room, wide * (lanes.length > 2 ? 0.23 : 0.27)), 190);
    const step = lanes.length < 2 ? 0 : (wide - 2 * margin) / (lanes.length - 1);
    this.#xs = new Map(lanes.map((lane, index) => [lane, axis + margin + step * index]));
  }

  #laneX(lane: number): number {
    return this.#xs.get(lane) ?? this.width;
  }

  #axis(fromUs: number): SVGTemplateResult[] {
    if (this.width < AXIS_FROM_PX) return [];
    return this.scale
      .ticksBetween(fromUs, this.view.us)
      .map((tick) => svg`<text class="tick" x="4" y=${tick.y + 4}>${seconds(tick.us)}</text>`);
  }

  #lane(lane: number, top: number, nowY: number, bottom: number): SVGTemplateResult {
    const x = this.#laneX(lane);
    return svg`<line class="lane" x1=${x} x2=${x} y1=${Math.max(0, top - 20)} y2=${nowY} />
      <line class="lane ahead" x1=${x} x2=${x} y1=${nowY} y2=${bottom} />`;
  }

  #outage(outage: Outage, top: number, nowY: number): SVGTemplateResult | typeof nothing {
    const x = this.#laneX(outage.lane);
    const y = (us: number | null): number =>
      us === null ? nowY : Math.min(Math.max(this.scale.toY(us), top - 20), nowY);
    const [dying, dead, start, serving] = [y(outage.dyingUs), y(outage.deadUs), y(outage.startUs), y(outage.servingUs)];
    if (outage.dyingUs > this.view.us) return nothing;
    return svg`<line class="lane-off" x1=${x} x2=${x} y1=${dying} y2=${serving} />
      <line class="lane-dying" x1=${x} x2=${x} y1=${dying} y2=${dead} />
      <line class="lane-dead" x1=${x} x2=${x} y1=${dead} y2=${start} />
      <line class="lane-starting" x1=${x} x2=${x} y1=${start} y2=${serving} />`;
  }

  #quiet(quiet: Quiet): SVGTemplateResult {
    const y = quiet.y + QUIET_AFTER_PX;
    const lasted = Math.min(quiet.toUs, this.view.us) - quiet.fromUs;
    const fade = Math.min(1, (lasted - QUIET_US) / QUIET_US);
    return svg`<g class="quiet" opacity=${fade.toFixed(2)}>
      <rect x="0" width=${this.width} y=${y} height="22" />
      <path d=${ripple(this.width, y)} /><path d=${ripple(this.width, y + 22)} />
      <text x=${this.width / 2} y=${y + 15} text-anchor="middle">${this.text.quiet(span(lasted))}</text>
    </g>`;
  }

  #frame(frame: Frame, nowY: number): SVGTemplateResult {
    const arrow = this.#arrow(frame);
    const { x1, y1, x2, y2 } = arrow;
    const flown = y2 <= y1 ? 1 : Math.min(1, (nowY - y1) / (y2 - y1));
    const [hx, hy] = [x1 + (x2 - x1) * flown, y1 + (y2 - y1) * flown];
    const over = frame.endUs <= this.view.us;
    const lost = over && frame.outcome === Outcome.Lost;
    const selected = frame.id === this.selected;
    return svg`<g class="frame ${frameClass(frame)} ${lost ? "lost" : ""} ${selected ? "selected" : ""}"
        @click=${() => command(this, { do: "select-frame", frame: frame.id })}>
      <title>${frameSentence(this.meta, frame, this.view.us, this.text)}</title>
      <line class="hit" x1=${x1} y1=${y1} x2=${hx} y2=${hy} />
      <line class="shaft" x1=${x1} y1=${y1} x2=${hx} y2=${hy} />
      ${lost ? cross(hx, hy) : over ? arrowHead(x1, y1, x2, y2) : svg`<circle cx=${hx} cy=${hy} r="3.5" />`}
      ${this.#frameLabel(frame, arrow, flown)}
    </g>`;
  }

  /** The label comes into sight as the arrow's head passes it. */
  #frameLabel(frame: Frame, arrow: Arrow, flown: number): SVGTemplateResult | typeof nothing {
    if (!this.#labelled.has(frame.id)) return nothing;
    const { x, y, share } = labelPlace(arrow, frame);
    const opacity = Math.min(1, Math.max(0, flown / share)).toFixed(2);
    return svg`<text class="label" opacity=${opacity} x=${x} y=${y} text-anchor="middle">${frameLabel(this.meta, frame, this.text)}</text>`;
  }

  /** Which frames have room for their label: an earlier one keeps its place. */
  #placeLabels(frames: Frame[]): void {
    const placed: { x: number; y: number; half: number }[] = [];
    this.#labelled.clear();
    for (const frame of frames) {
      const arrow = this.#arrow(frame);
      if (Math.abs(arrow.x2 - arrow.x1) < LABEL_FROM_PX) continue;
      const { x, y } = labelPlace(arrow, frame);
      const half = (frameLabel(this.meta, frame, this.text).length * LETTER_PX) / 2;
      if (placed.some((other) => Math.abs(other.y - y) < LINE_PX - 2 && Math.abs(other.x - x) < other.half + half))
        continue;
      placed.push({ x, y, half });
      this.#labelled.add(frame.id);
    }
  }

  #arrow(frame: Frame): Arrow {
    const lost = frame.outcome === Outcome.Lost;
    const flownUs = lost ? Math.min(frame.endUs, frame.sentUs + LOST_FLIGHT_US) : frame.endUs;
    const [x1, to] = [this.#laneX(frame.from), this.#laneX(frame.to)];
    return { x1, y1: this.scale.toY(frame.sentUs), x2: lost ? (x1 + to) / 2 : to, y2: this.scale.toY(flownUs) };
  }

  #labels(): SVGTemplateResult[] {
    return [...this.#xs.keys()].flatMap((lane) =>
      markLabels(
        this.view.marks.filter((mark) => mark.lane === lane),
        this.scale,
        this.text,
      ).map((label) => this.#label(lane, label)),
    );
  }

  #label(lane: number, label: MarkLabel): SVGTemplateResult {
    const left = lane === 0;
    const x = this.#laneX(lane);
    const titles = label.marks.map((mark) => markSentence(this.meta, mark, this.text));
    return svg`<g class="mark ${label.alarm ? "alarm" : ""}">
      <title>${titles.join("\n")}</title>
      <circle cx=${x} cy=${label.y} r="3" />
      ${label.lines.map(
        (line, index) =>
          svg`<text x=${left ? x - 9 : x + 9} y=${label.y + 4 + index * LINE_PX} text-anchor=${left ? "end" : "start"}>${left ? line : this.#fitted(line, LETTER_PX)}</text>`,
      )}
    </g>`;
  }

  /** A text that stays clear of the next lane where many stand side by side; its title says all of it. */
  #fitted(text: string, letterPx: number): string {
    const [first = 0, second = this.width, ...more] = this.#xs.values();
    const letters = Math.floor((second - first - 2 * LABEL_GAP_PX) / letterPx);
    return more.length < 2 || text.length <= letters ? text : `${text.slice(0, Math.max(1, letters - 1))}…`;
  }

  #keys(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const { frames } = this.view;
    const at = frames.findIndex((frame) => frame.id === this.selected);
    const next = at < 0 ? frames.at(-1) : frames[Math.min(Math.max(at + by, 0), frames.length - 1)];
    if (next) command(this, { do: "select-frame", frame: next.id });
  }
}

/** Where the arrow's shaft goes; a lost one ends half-way. */
interface Arrow {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

function labelPlace({ x1, y1, x2, y2 }: Arrow, frame: Frame): { x: number; y: number; share: number } {
  const share = frame.outcome === Outcome.Lost ? 0.55 : 0.42;
  return { x: x1 + (x2 - x1) * share, y: y1 + (y2 - y1) * share - 7, share };
}

const PRODUCE = 0;
const FETCH = 1;

function frameClass(frame: Frame): string {
  if (frame.kind >= FrameKind.Syn) return "conn";
  if (frame.apiKey === PRODUCE) return frame.kind === FrameKind.Request ? "data" : "ack";
  return frame.apiKey === FETCH ? "fetch" : "meta";
}

function cross(x: number, y: number): SVGTemplateResult {
  return svg`<path class="cross" d="M${x - 5.5} ${y - 5.5}l11 11m0-11l-11 11" />`;
}

function arrowHead(x1: number, y1: number, x2: number, y2: number): SVGTemplateResult {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - ux * 9, y2 - uy * 9];
  const corner = (side: number): string => `${(bx - uy * 4 * side).toFixed(1)} ${(by + ux * 4 * side).toFixed(1)}`;
  return svg`<path class="tip" d="M${x2} ${y2}L${corner(1)}L${corner(-1)}z" />`;
}

/** A flat wave across the diagram: here time is folded. */
function ripple(width: number, y: number): string {
  return `M0 ${y}` + "q6 -3.5 12 0t12 0".repeat(Math.ceil(width / 24));
}
