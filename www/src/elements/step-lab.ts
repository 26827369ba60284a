// <step-lab experiment="acks-0">: one run of one experiment, to step through and to act on. Owns the Lab, what is selected and what
// was guessed; what the reader did stands in the page's address too. State flows down to the parts as properties, their commands bubble up to here. `lang` and `seed` are optional.

import { LitElement, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import { CommandEvent, type Command } from "../commands.js";
import { frameFate, frameLabel, frameSentence, markSentence } from "../describe.js";
import {
  FrameKind,
  loadLab,
  RecordState,
  type Branch,
  type Bytes,
  type Fact,
  type Frame,
  type Lab,
  type RecordCell,
  type StepKind,
  type View,
  type WhyLink,
} from "../engine.js";
import { experimentBytes } from "../experiments.js";
import { clock, seconds } from "../format.js";
import { commandOf } from "../keyboard.js";
import { Address, fits, fragmentOf, linkTo } from "../link.js";
import { languageOf, messages, type Language, type Messages } from "../messages/index.js";
import { PACES, Playback, type PlaybackHost } from "../playback.js";
import { Scale } from "../scale.js";
import { StepDiagram } from "./step-diagram.js";
import { labStyles } from "./step-lab.css.js";
import "./step-branches.js";
import "./step-controls.js";
import "./step-facts.js";
import "./step-frame-faults.js";
import "./step-inspector.js";
import "./step-laws.js";
import "./step-log.js";
import "./step-program.js";
import "./step-question.js";
import "./step-scrubber.js";
import "./step-why.js";

/** What the inspector shows; headings are made when drawn, in the language of that moment. */
type Inspected = { content: Bytes } & ({ frame: Frame } | { segment: string });

/** A record that was asked about, with the answer as it was at the instant of asking: following a link must not shorten it. */
interface Asked {
  cell: RecordCell;
  links: WhyLink[];
}

@customElement("step-lab")
export class StepLab extends LitElement implements PlaybackHost {
  @property() experiment = "";
  @property() seed = "";
  @property() override lang = "";
  @state() private lab: Lab | undefined;
  @state() private failure = "";
  @state() private by: StepKind = "event";
  @state() private fold = true;
  @state() private guesses: Record<string, number> | undefined;
  @state() private revealed = false;
  @state() private inspected: Inspected | undefined;
  @state() private asked: Asked | undefined;
  /** The courses of the run, once there are several. */
  @state() private branches: Branch[] = [];
  @state() private stale = false;
  readonly #address = new Address();
  scale = new Scale(new Float64Array());
  readonly #playback = new Playback(this);
  #view: View | undefined;
  #facts: Fact[] = [];
  /** Whether the position has changed since `#view` was taken. */
  #moved = false;

  static override styles = labStyles;

  constructor() {
    super();
    this.addEventListener(CommandEvent.type, (event) => {
      event.stopPropagation();
      if (event instanceof CommandEvent) this.#obey(event.command);
    });
  }

  // ---- what Playback asks of its host ----

  get us(): number {
    return this.lab?.us ?? 0;
  }

  get endUs(): number {
    return this.lab?.meta.endUs ?? 0;
  }

  moveTo(us: number): void {
    this.lab?.seek(us);
    this.#hasMoved();
  }

  // ---- life ----

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.#addressed);
    this.#drop();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("hashchange", this.#addressed);
    if (this.hasUpdated && !this.lab) void this.#load();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("experiment") || changed.has("seed")) void this.#load();
    if (this.lab && this.#moved) this.#look(this.lab);
  }

  readonly #addressed = (): void => {
    if (linkTo(this.experiment)) void this.#load();
  };

  /** The one view() of a drawn frame. */
  #look(lab: Lab): void {
    const before = this.#view?.event;
    this.#view = lab.view(StepDiagram.fromUs(this.scale, lab.us), this.fold);
    if (this.#view.event !== before) this.#facts = lab.facts();
    if (this.#view.atEnd) this.revealed = true;
    this.#moved = false;
    if (lab.branch > 0 && !this.#playback.playing) this.#address.says(fragmentOf(lab.meta, lab.journal(), lab.us));
  }

  async #load(): Promise<void> {
    this.#drop();
    const { experiment, seed } = this;
    if (!experiment) return;
    try {
      const link = linkTo(experiment);
      const wanted = /^\d+$/.test(link?.seed ?? "") ? (link?.seed ?? seed) : seed;
      const lab = await loadLab(await experimentBytes(experiment), wanted === "" ? undefined : BigInt(wanted));
      if (this.experiment !== experiment || this.seed !== seed || !this.isConnected) {
        lab.free();
        return;
      }
      lab.seek(lab.meta.openingUs);
      this.lab = lab;
      if (link) {
        this.stale = !fits(link, lab.meta) || !link.acts.every((act) => lab.actAgain(act) >= 0);
        if (!this.stale) lab.seek(link.us);
      }
      this.#hasTurned(lab);
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }

  #drop(): void {
    this.#playback.pause();
    this.lab?.free();
    this.lab = undefined;
    this.#view = undefined;
    this.failure = "";
    this.guesses = undefined;
    this.revealed = false;
    this.inspected = undefined;
    this.asked = undefined;
    this.branches = [];
    this.stale = false;
  }

  /** Another course is shown. */
  #hasTurned(lab: Lab): void {
    this.scale = new Scale(lab.beats(this.fold));
    this.branches = lab.branches();
    this.asked = undefined;
    this.inspected = undefined;
    this.#view = undefined;
    this.#look(lab);
    this.#hasMoved();
    if (lab.branch === 0) this.#address.isSilent(this.experiment);
  }

  // ---- commands ----

  #obey(what: Command): void {
    const { lab } = this;
    if (!lab) return;
    switch (what.do) {
      case "play-or-pause":
        if (this.#playback.playing) this.#playback.pause();
        else this.#playback.play();
        return;
      case "run-to-end":
        this.#playback.runToEnd();
        return;
      case "guess":
        this.guesses = what.guesses;
        this.#playback.runToEnd();
        return;
      case "step":
        this.#playback.pause();
        lab.step(what.kind, what.direction, this.fold);
        this.#hasMoved();
        return;
      case "seek":
        this.#playback.pause();
        this.moveTo(what.us);
        return;
      case "seek-event":
        this.#playback.pause();
        lab.seekEvent(what.event);
        this.#look(lab);
        this.#hasMoved();
        if (what.frame >= 0) this.#inspectFrame(lab, what.frame);
        return;
      case "select-frame":
        this.#inspectFrame(lab, what.frame);
        return;
      case "act": {
        this.#playback.pause();
        const frame = lab.act(what.frame, what.action, what.spanUs);
        if (frame < 0) return;
        this.#hasTurned(lab);
        this.#inspectFrame(lab, frame);
        return;
      }
      case "switch":
        this.#playback.pause();
        lab.switchTo(what.branch);
        this.#hasTurned(lab);
        return;
      case "select-record": {
        const cell = this.#view?.records.find((record) => record.record === what.record);
        if (cell) this.asked = { cell, links: lab.why(what.record) };
        return;
      }
      case "select-segment": {
        const partition = lab.meta.partitions[what.partition];
        const segment = partition ? this.#text.log(partition.topic, partition.partition) : "";
        this.inspected = { content: lab.segment(what.partition), segment };
        return;
      }
      case "step-by":
        this.by = what.kind;
        return;
      case "pace":
        this.#playback.pace = PACES.find(({ id }) => id === what.id) ?? PACES[0];
        this.requestUpdate();
        return;
      case "fold":
        this.fold = what.fold;
        this.scale = new Scale(lab.beats(what.fold));
        this.#hasMoved();
    }
  }

  #inspectFrame(lab: Lab, id: number): void {
    const frame = this.#view?.frames.find((known) => known.id === id);
    if (!frame) return;
    // Opening and closing a connection moves no bytes of Kafka's.
    const content = frame.kind >= FrameKind.Syn ? { bytes: new Uint8Array(), fields: [] } : lab.frame(id);
    this.inspected = { content, frame };
  }

  #hasMoved(): void {
    this.#moved = true;
    this.requestUpdate();
  }

  #keys(event: KeyboardEvent): void {
    const what = commandOf(event, { by: this.by, fold: this.fold, pace: this.#playback.pace.id, endUs: this.endUs });
    if (what === "leave") return;
    // mdBook turns pages and opens its search on plain keys: those we understand are ours.
    event.stopPropagation();
    if (what === "typing") return;
    event.preventDefault();
    this.#obey(what);
  }

  // ---- drawing ----

  get #language(): Language {
    return languageOf(this);
  }

  get #text(): Messages {
    return messages(this.#language);
  }

  override render(): TemplateResult {
    const text = this.#text;
    if (this.failure) return html`<section class="lab note" role="alert">${text.failed} ${this.failure}</section>`;
    if (!this.lab || !this.#view)
      return html`<section class="lab note wait" aria-busy="true">${text.loading}<slot></slot></section>`;
    return this.#render(this.lab, this.#view, text);
  }

  #render(lab: Lab, view: View, text: Messages): TemplateResult {
    const { meta } = lab;
    const language = this.#language;
    const { playing, pace } = this.#playback;
    const covered = meta.question !== null && !this.revealed && !this.guesses;
    return html`
      <section class="lab" lang=${language} aria-label=${text.labLabel(meta.title[language])} @keydown=${this.#keys}>
        <header>
          <h2>${meta.title[language]}</h2>
          <p>${meta.summary[language]}</p>
        </header>
        ${
          meta.question
            ? html`<step-question
                class="question"
                .question=${meta.question}
                .metas=${meta.facts}
                .facts=${this.#facts}
                .guesses=${this.guesses}
                .telling=${view.records.find((record) => record.state === RecordState.Lost)?.record}
                .text=${text}
                language=${language}
                ?ended=${view.atEnd}
              ></step-question>`
            : nothing
        }
        ${this.stale ? html`<p class="stale" role="status">${text.linkStale}</p>` : nothing}
        ${
          this.branches.length > 1
            ? html`<step-branches
                class="branches"
                .meta=${meta}
                .branches=${this.branches}
                .current=${lab.branch}
                ?covered=${covered}
                .text=${text}
                language=${language}
              ></step-branches>`
            : nothing
        }
        <div class="left">
          <div class="program">${this.#programs(lab, view, text, 0, 1)}</div>
          <step-facts
            class="facts"
            .metas=${meta.facts}
            .facts=${this.#facts}
            .records=${view.records}
            ?covered=${covered}
            .text=${text}
            language=${language}
            ?ended=${view.atEnd}
          ></step-facts>
        </div>
        <div class="stage">
          <step-diagram
            .meta=${meta}
            .view=${view}
            .scale=${this.scale}
            .text=${text}
            .selected=${this.inspected && "frame" in this.inspected ? this.inspected.frame.id : -1}
            ?playing=${playing}
          ></step-diagram>
        </div>
        <div class="right">
          <div class="logs">
            ${meta.partitions.map(
              (_, index) =>
                html`<step-log
                  .meta=${meta}
                  .partition=${index}
                  .state=${view.partitions[index]}
                  .records=${view.records}
                  .selected=${this.asked?.cell.record}
                  .text=${text}
                ></step-log>`,
            )}
          </div>
          <div class="aside">
            <step-laws
              .metas=${meta.facts}
              .facts=${this.#facts}
              .text=${text}
              language=${language}
              ?ended=${view.atEnd}
            ></step-laws>
            ${this.#programs(lab, view, text, 1)}
          </div>
        </div>
        <div class="drive">
          <p class="caption" aria-live=${playing ? "off" : "polite"}>
            <time>${clock(view.us)}</time> <span>${playing ? this.#lineNow(lab, view) : caption(lab, view, text)}</span>
          </p>
          <step-scrubber .meta=${meta} .us=${view.us} .text=${text}></step-scrubber>
          <step-controls
            .text=${text}
            by=${this.by}
            pace=${pace.id}
            .endUs=${meta.endUs}
            ?playing=${playing}
            ?fold=${this.fold}
          ></step-controls>
        </div>
        <div class="below">
          <step-why
            class="why"
            .meta=${meta}
            .record=${this.asked?.cell}
            .links=${this.asked?.links ?? []}
            .event=${view.event}
            .text=${text}
          ></step-why>
          <step-inspector
            class="inspector"
            .content=${this.inspected?.content}
            .heading=${this.inspected ? this.#heading(lab, this.inspected, view, text) : ""}
            .text=${text}
          >
            ${
              this.inspected && "frame" in this.inspected && this.inspected.frame.kind < FrameKind.Syn
                ? html`<step-frame-faults .frame=${this.inspected.frame} .text=${text}></step-frame-faults>`
                : nothing
            }
          </step-inspector>
        </div>
        <footer>
          <details>
            <summary>${text.keys}</summary>
            <dl>
              ${text.keysHelp.map(
                ([key, does]) =>
                  html`<dt>${key}</dt>
                    <dd>${does}</dd>`,
              )}
            </dl>
          </details>
          <p title=${text.traceHint}>${text.run(meta.seed, playing ? "…" : lab.hash())}</p>
        </footer>
      </section>
    `;
  }

  /** The first program is the story; the others stand further down. */
  #programs(lab: Lab, view: View, text: Messages, from: number, to?: number): TemplateResult[] {
    return lab.meta.programs
      .slice(from, to)
      .map(
        (program, index) =>
          html`<step-program .program=${program} .state=${view.programs[from + index]} .text=${text}></step-program>`,
      );
  }

  /** While it plays the caption names the program's line: it changes seldom and keeps its width. */
  #lineNow(lab: Lab, view: View): string {
    const line = view.programs[0]?.line ?? -1;
    return lab.meta.programs[0]?.lines[line]?.text ?? "";
  }

  #heading(lab: Lab, inspected: Inspected, view: View, text: Messages): string {
    if ("segment" in inspected) return text.segmentTitle(inspected.segment);
    const { frame } = inspected;
    const version = frame.apiVersion < 0 ? "" : ` v${frame.apiVersion}`;
    return `${frameLabel(lab.meta, frame, text)}${version} · ${frameFate(frame, view.us, text)}`;
  }
}

/** What has just happened, in one sentence: the event on which the lab stands. */
function caption(lab: Lab, view: View, text: Messages): string {
  const mark = view.marks.findLast((known) => known.event === view.event);
  if (mark) return markSentence(lab.meta, mark, text).replace(`${seconds(mark.us)}, `, "");
  const frame =
    view.frames.findLast((known) => known.sentUs === view.us) ??
    view.frames.findLast((known) => known.endUs === view.us);
  return frame ? frameSentence(lab.meta, frame, view.us, text) : "";
}
