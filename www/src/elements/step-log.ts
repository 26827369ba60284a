// A partition's log as cells, one per record in the order of the log, with start, high watermark and end; between them, dashed, the
// records of which the producer was told something that no log confirms. A cell can be asked why.

import { LitElement, css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";

import { command } from "../commands.js";
import { laneName, recordStateText } from "../describe.js";
import { RecordState, type Meta, type PartitionState, type RecordCell } from "../engine.js";
import type { Messages } from "../messages/index.js";
import { shared } from "./theme.js";

/** More are summed up in one line, so that a long run costs no more to draw than a short one. */
const CELLS_MAX = 600;

const stateClass: Record<RecordState, string> = {
  [RecordState.Pending]: "pending",
  [RecordState.OkOnTheWay]: "way",
  [RecordState.InLog]: "in",
  [RecordState.OkInLog]: "ok",
  [RecordState.Lost]: "lost",
  [RecordState.Failed]: "failed",
  [RecordState.FailedButInLog]: "failed-in",
};

const LEGEND: RecordState[] = [RecordState.OkInLog, RecordState.OkOnTheWay, RecordState.Lost, RecordState.Failed];

@customElement("step-log")
export class StepLog extends LitElement {
  @property({ attribute: false }) meta!: Meta;
  @property({ attribute: false }) partition = 0;
  @property({ attribute: false }) state!: PartitionState;
  @property({ attribute: false }) records!: RecordCell[];
  @property({ attribute: false }) selected: number | undefined;
  @property({ attribute: false }) text!: Messages;
  @query(".cells") private cellsBox!: HTMLElement | null;
  /** Where the roving tab stop is. */
  #focus: number | undefined;

  static override styles = [
    shared,
    css`
      header {
        display: flex;
        flex-wrap: wrap;
        gap: 2px 10px;
        align-items: baseline;
      }
      header h3 {
        flex: 1 1 auto;
      }
      header button {
        font-size: 12px;
      }
      .pins {
        display: flex;
        flex-wrap: wrap;
        gap: 2px 14px;
        margin: 4px 0 6px;
        font: 12px/1.6 var(--_mono);
        color: var(--_soft);
      }
      .pins b {
        font-weight: 600;
        color: var(--_ink);
        display: inline-block;
        min-width: 3ch;
      }
      .cells {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(31px, 1fr));
        grid-auto-rows: 22px;
        gap: 3px;
        align-content: start;
        height: var(--step-cells-height, 250px);
        overflow-y: auto;
        overscroll-behavior: contain;
        scrollbar-width: thin;
        padding: 2px;
      }
      .cell {
        position: relative;
        padding: 0;
        border: 1.5px solid transparent;
        border-radius: 4px;
        font: 11px/18px var(--_mono);
        color: var(--_ink);
        background: none;
        text-align: center;
      }
      .ok {
        background: var(--_data-fill);
      }
      .in {
        border-color: var(--_data);
        background: var(--_data-fill);
      }
      .way {
        border-color: var(--_data);
      }
      .pending {
        border-color: var(--_line);
        color: var(--_soft);
      }
      .lost {
        border: 1.5px dashed var(--_lost);
        background: var(--_lost-fill);
        color: var(--_lost);
        font-weight: 600;
      }
      .failed {
        border-color: var(--_line);
        color: var(--_soft);
        text-decoration: line-through;
      }
      .failed-in {
        border: 1.5px solid var(--_warn);
        background: var(--_data-fill);
      }
      .cell[aria-selected="true"] {
        outline: 2px solid var(--_accent);
        outline-offset: 0;
      }
      .pin::after {
        content: "";
        position: absolute;
        inset: -4px auto -4px -3.5px;
        border-inline-start: 2px solid var(--_accent);
      }
      .end {
        font: 11px/20px var(--_mono);
        color: var(--_soft);
        border-inline-start: 2px solid var(--_accent);
        padding-inline-start: 4px;
        margin-inline-start: -3px;
        white-space: nowrap;
      }
      .earlier {
        grid-column: 1 / -1;
        font-size: 12px;
        color: var(--_soft);
      }
      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 2px 12px;
        list-style: none;
        margin: 8px 0 0;
        padding: 0;
        font-size: 12px;
        color: var(--_soft);
      }
      li {
        display: flex;
        gap: 6px;
        align-items: center;
      }
      li i {
        width: 16px;
        height: 13px;
      }
    `,
  ];

  override render(): TemplateResult {
    const { text, state } = this;
    const partition = this.meta.partitions[this.partition];
    const name = partition ? text.log(partition.topic, partition.partition) : "";
    const cells = inLogOrder(this.records.filter((record) => this.#isHere(record)));
    const hidden = Math.max(0, cells.length - CELLS_MAX);
    const shown = cells.slice(hidden);
    return html`
      <header>
        <h3>${name} · ${state.leader < 0 ? text.noLeader : laneName(this.meta, state.leader, text)}</h3>
        <button
          class="link"
          title=${text.logFileHint}
          @click=${() => command(this, { do: "select-segment", partition: this.partition })}
        >
          ${text.logFile}
        </button>
      </header>
      <div class="pins">
        <span>${text.start} <b>${state.logStart}</b></span>
        <span>${text.highWatermark} <b>${state.highWatermark}</b></span>
        <span>${text.end} <b>${state.logEnd}</b></span>
      </div>
      <div
        class="cells"
        role="listbox"
        aria-label=${text.cells}
        tabindex=${shown.length === 0 ? 0 : -1}
        @keydown=${this.#keys}
      >
        ${hidden > 0 ? html`<span class="earlier" role="presentation">${text.cellsEarlier(hidden)}</span>` : nothing}
        ${repeat(
          shown,
          (cell) => cell.record,
          (cell) => this.#cell(cell, shown),
        )}
        <span class="cell end" role="presentation">${state.logEnd}</span>
      </div>
      <ul aria-hidden="true">
        ${LEGEND.map((kind) => html`<li><i class="cell ${stateClass[kind]}"></i>${recordStateText(kind, text)}</li>`)}
      </ul>
    `;
  }

  /** A record that never got as far as a partition is shown with the first: it must be seen somewhere. */
  #isHere(record: RecordCell): boolean {
    return record.partition === this.partition || (record.partition < 0 && this.partition === 0);
  }

  #cell(cell: RecordCell, shown: RecordCell[]): TemplateResult {
    const { text } = this;
    const state = recordStateText(cell.state, text);
    const label = cell.offset < 0 ? text.cell(cell.record, state) : text.cellAt(cell.record, cell.offset, state);
    const pin = cell.offset >= 0 && (cell.offset === this.state.highWatermark || cell.offset === this.state.logStart);
    const stop = this.#focus ?? this.selected ?? shown.at(-1)?.record;
    return html`<div
      class="cell ${stateClass[cell.state]} ${pin ? "pin" : ""}"
      role="option"
      aria-selected=${cell.record === this.selected}
      aria-label=${label}
      title=${label}
      data-record=${cell.record}
      tabindex=${cell.record === stop ? 0 : -1}
      @click=${() => this.#choose(cell.record)}
    >
      ${cell.record}
    </div>`;
  }

  #choose(record: number): void {
    this.#focus = record;
    command(this, { do: "select-record", record });
  }

  #keys(event: KeyboardEvent): void {
    const cells = [...this.renderRoot.querySelectorAll<HTMLElement>("[role=option]")];
    const at = cells.findIndex((cell) => cell === event.target);
    if (at < 0) return;
    if (event.key === "Enter") {
      event.stopPropagation();
      this.#choose(Number(cells[at]?.dataset["record"]));
      return;
    }
    const columns = cells.filter((cell) => cell.offsetTop === cells[0]?.offsetTop).length;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = cells[Math.min(Math.max(at + by, 0), cells.length - 1)];
    this.#focus = Number(next?.dataset["record"]);
    this.requestUpdate();
    next?.focus();
  }

  /** Follows the end of the log, unless the reader is among the cells. */
  protected override updated(changed: PropertyValues<this>): void {
    const box = this.cellsBox;
    if (!box) return;
    if (changed.has("selected") && this.selected !== undefined) {
      this.renderRoot.querySelector(`[data-record="${this.selected}"]`)?.scrollIntoView({ block: "nearest" });
    } else if (changed.has("records") && this.selected === undefined && !box.matches(":focus-within")) {
      box.scrollTop = box.scrollHeight;
    }
  }
}

/** By offset; what is in no log stands after the last record sent before it that is. */
function inLogOrder(records: RecordCell[]): RecordCell[] {
  let last = -1;
  const placed = records.map((record) => {
    if (record.offset >= 0) last = record.offset;
    return { record, place: record.offset >= 0 ? record.offset : last + 0.5 };
  });
  return placed.sort((a, b) => a.place - b.place || a.record.record - b.record.record).map(({ record }) => record);
}
