// The run's facts so far, beside the book's figures. They stay covered until the reader has guessed.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";

import type { Fact, FactMeta, FactValue } from "../engine.js";
import { signed } from "../format.js";
import type { Language, Messages } from "../messages/index.js";
import { shared } from "./theme.js";

@customElement("step-facts")
export class StepFacts extends LitElement {
  @property({ attribute: false }) metas!: FactMeta[];
  @property({ attribute: false }) facts!: Fact[];
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
      ul {
        list-style: none;
        margin: 10px 0 0;
        padding: 0;
        font-size: 12.5px;
        line-height: 1.45;
        color: var(--_soft);
      }
      li {
        display: grid;
        grid-template-columns: 2ch 1fr;
        padding: 1px 0;
      }
      li .holds,
      li .broken {
        margin: 0;
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
    const rows = this.metas.map((meta, index) => ({ meta, fact: this.facts[index] }));
    const laws = rows.filter(({ fact, meta }) => isLaw(meta, fact));
    return html`<table>
        <thead>
          <tr>
            <th scope="col"><span class="unseen">${text.fact}</span></th>
            <th scope="col">${this.ended ? text.here : text.soFar}</th>
            <th scope="col">${text.book}</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(({ meta, fact }) => (isLaw(meta, fact) ? nothing : this.#row(meta, fact)))}
        </tbody>
      </table>
      ${
        laws.length === 0
          ? nothing
          : html`<ul aria-label=${text.laws}>
              ${laws.map(({ meta, fact }) => this.#law(meta, fact))}
            </ul>`
      }`;
  }

  /** A law is a sentence that holds or does not, and says nothing before the end. */
  #law(meta: FactMeta, fact: Fact | undefined): TemplateResult {
    const mark = this.#holds(fact);
    return html`<li title=${this.#title(meta)}>
      <span>${mark === nothing ? html`<span role="img" aria-label=${this.text.notYet}>·</span>` : mark}</span>
      <span>${meta.label[this.language]}</span>
    </li>`;
  }

  #title(meta: FactMeta): string {
    const { text, language } = this;
    return [
      meta.note?.[language],
      meta.kind === "timing" ? text.timing : text.structural,
      meta.expected === null ? undefined : text.expected(meta.expected),
    ]
      .filter(Boolean)
      .join("\n");
  }

  #row(meta: FactMeta, fact: Fact | undefined): TemplateResult {
    const { text, language } = this;
    const value = fact?.value ?? null;
    const alarm = meta.name === "lost" && typeof value === "number" && value > 0 && this.ended;
    return html`<tr class=${classMap({ alarm, text: meta.unit === "text" })} title=${this.#title(meta)}>
      <th scope="row">${meta.label[language]}</th>
      <td class="value">${factText(value, meta, text)}${this.#holds(fact)}</td>
      <td class="book">
        ${this.covered ? html`<span title=${text.bookHidden} aria-label=${text.bookHidden} role="img">?</span>` : factText(meta.book, meta, text)}
      </td>
    </tr>`;
  }

  #holds(fact: Fact | undefined): TemplateResult | typeof nothing {
    if (!this.ended || fact?.holds === null || fact?.holds === undefined) return nothing;
    const { text } = this;
    return fact.holds
      ? html`<span class="holds" role="img" aria-label=${text.holds}>✓</span>`
      : html`<span class="broken" role="img" aria-label=${text.broken}>✗</span>`;
  }
}

function isLaw(meta: FactMeta, fact: Fact | undefined): boolean {
  return typeof fact?.value === "boolean" || meta.expected === "true";
}

export function factText(value: FactValue, meta: FactMeta, text: Messages): string {
  if (value === null) return text.nothingYet;
  if (typeof value === "boolean") return value ? text.yes : text.no;
  if (meta.unit === "ms" && typeof value === "number") return `${(value / 1e3).toFixed(3)} s`;
  return signed(value);
}
