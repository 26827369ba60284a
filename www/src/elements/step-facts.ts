// The run's figures so far, beside the book's, which stay covered until the reader has guessed. Laws are step-laws' part.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";

import { RecordState, type Fact, type FactMeta, type FactValue, type RecordCell } from "../engine.js";
import { grouped, signed } from "../format.js";
import type { Language, Messages } from "../messages/index.js";
import { shared } from "./theme.js";

/** The sets of records that every experiment's facts may name, by the states that make them up. */
const IN_STATES: Partial<Record<string, readonly RecordState[]>> = {
  landed: [RecordState.InLog, RecordState.OkInLog, RecordState.FailedButInLog],
  lost: [RecordState.Lost],
  failed_but_landed: [RecordState.FailedButInLog],
};

@customElement("step-facts")
export class StepFacts extends LitElement {
  @property({ attribute: false }) metas!: FactMeta[];
  @property({ attribute: false }) facts!: Fact[];
  @property({ attribute: false }) records: RecordCell[] = [];
  @property({ attribute: false }) text!: Messages;
  @property() language: Language = "en";
  /** The book's figures must not be seen yet: together they give the answer away. */
  @property({ type: Boolean }) covered = false;
  @property({ type: Boolean }) ended = false;

  static override styles = [
    shared,
    css`
      table {
        width: 100%;
        border-collapse: collapse;
        font-variant-numeric: tabular-nums;
        font-size: 13px;
      }
      th {
        font-weight: 400;
        text-align: start;
        color: var(--_soft);
        padding: 2px 0;
      }
      thead th:not(:first-child),
      td {
        text-align: end;
        padding: 2px 0 2px 10px;
        white-space: nowrap;
      }
      thead th {
        font-size: 12px;
      }
      tbody tr {
        border-top: 1px solid var(--_line);
      }
      .book {
        color: var(--_soft);
      }
      .value {
        min-width: 6ch;
        font-weight: 600;
      }
      .alarm .value,
      .alarm th {
        color: var(--_lost);
      }
      .holds {
        color: var(--_data);
        margin-inline-start: 4px;
      }
      .broken {
        color: var(--_lost);
        margin-inline-start: 4px;
      }
      .text td.value {
        font: 12px var(--_mono);
        white-space: normal;
        overflow-wrap: anywhere;
      }
    `,
  ];

  override render(): TemplateResult {
    const { text } = this;
    return html`<table>
      <thead>
        <tr>
          <th scope="col"><span class="unseen">${text.fact}</span></th>
          <th scope="col">${this.ended ? text.here : text.soFar}</th>
          <th scope="col">${text.book}</th>
        </tr>
      </thead>
      <tbody>
        ${this.metas.map((meta, index) => (isLaw(meta) ? nothing : this.#row(meta, this.facts[index])))}
      </tbody>
    </table>`;
  }

  /** Until the experiment's reader has read the log, what it will find is counted from the records' fates so far. */
  #fromRecords(name: string): FactValue {
    const states = IN_STATES[name];
    return states ? this.records.filter((record) => states.includes(record.state)).length : null;
  }

  #row(meta: FactMeta, fact: Fact | undefined): TemplateResult {
    const { text, language } = this;
    const value = fact?.value ?? this.#fromRecords(meta.name);
    const alarm = meta.name === "lost" && typeof value === "number" && value > 0;
    return html`<tr class=${classMap({ alarm, text: meta.unit === "text" })} title=${factTitle(meta, text, language)}>
      <th scope="row">${meta.label[language]}</th>
      <td class="value">${factText(value, meta, text)}${verdict(fact, this.ended, text)}</td>
      <td class="book">
        ${this.covered ? html`<span title=${text.bookHidden} aria-label=${text.bookHidden} role="img">?</span>` : factText(meta.book, meta, text)}
      </td>
    </tr>`;
  }
}

/** A law is a sentence that holds or does not; all else is a figure. */
export function isLaw(meta: FactMeta): boolean {
  return meta.expected === "true";
}

/** What the experiment's file says of a fact. */
export function factTitle(meta: FactMeta, text: Messages, language: Language): string {
  return [
    meta.note?.[language],
    meta.kind === "timing" ? text.timing : text.structural,
    meta.expected === null ? undefined : text.expected(meta.expected),
  ]
    .filter(Boolean)
    .join("\n");
}

/** ✓ or ✗ at the end of the run, nothing before it and nothing for what varies. */
export function verdict(fact: Fact | undefined, ended: boolean, text: Messages): TemplateResult | typeof nothing {
  if (!ended || fact?.holds === null || fact?.holds === undefined) return nothing;
  return fact.holds
    ? html`<span class="holds" role="img" aria-label=${text.holds}>✓</span>`
    : html`<span class="broken" role="img" aria-label=${text.broken}>✗</span>`;
}

export function factText(value: FactValue, meta: FactMeta, text: Messages): string {
  if (value === null) return text.nothingYet;
  if (typeof value === "boolean") return value ? text.yes : text.no;
  if (meta.unit === "ms" && typeof value === "number") return grouped(value);
  return signed(value);
}
