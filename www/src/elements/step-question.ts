// The question before the answer: the reader guesses, runs to the end, and sees the guess beside what happened.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { command } from "../commands.js";
import type { Fact, FactMeta, Question } from "../engine.js";
import type { Language, Messages } from "../messages/index.js";
import { factText } from "./step-facts.js";
import { shared } from "./theme.js";

@customElement("step-question")
export class StepQuestion extends LitElement {
  @property({ attribute: false }) question!: Question;
  @property({ attribute: false }) metas!: FactMeta[];
  @property({ attribute: false }) facts!: Fact[];
  /** Undefined until the reader has answered. */
  @property({ attribute: false }) guesses: Record<string, number> | undefined;
  /** A record whose fate explains the answer, if there is one. */
  @property({ attribute: false }) telling: number | undefined;
  @property({ attribute: false }) text!: Messages;
  @property() language: Language = "en";
  @property({ type: Boolean }) ended = false;

  static override styles = [
    shared,
    css`
      p {
        margin: 0;
        max-width: 96ch;
        text-wrap: pretty;
      }
      :host([language="zh"]) p {
        max-width: 52em;
      }
      form,
      .answer {
        display: flex;
        flex-wrap: wrap;
        gap: 8px 18px;
        align-items: center;
        margin-top: 8px;
      }
      label {
        display: flex;
        gap: 8px;
        align-items: center;
      }
      input {
        width: 5.5em;
        padding: 3px 8px;
        border: 1px solid var(--_soft);
        border-radius: 6px;
        background: var(--_bg);
        font-variant-numeric: tabular-nums;
      }
      table {
        border-collapse: collapse;
        font-variant-numeric: tabular-nums;
      }
      th {
        font-weight: 400;
        color: var(--_soft);
        text-align: start;
      }
      td,
      thead th + th {
        text-align: end;
        padding-inline-start: 18px;
      }
      .off {
        color: var(--_lost);
        font-weight: 600;
      }
      .hit {
        color: var(--_data);
        font-weight: 600;
      }
    `,
  ];

  override render(): TemplateResult {
    const { question, text, language } = this;
    return html`
      <p><strong>${text.ask}: </strong>${question.text[language]}</p>
      ${this.guesses && this.ended ? this.#answer(this.guesses) : this.#form()}
    `;
  }

  /** What is asked, as the question puts it: a fact's own text may give the answer away. */
  #asked(): { label: string; meta: FactMeta }[] {
    return this.question.asks.flatMap(({ label, fact }) => {
      const meta = this.metas.find(({ name }) => name === fact);
      return meta ? [{ label: label[this.language], meta }] : [];
    });
  }

  #form(): TemplateResult {
    return html`<form @submit=${this.#submit}>
      ${this.#asked().map(
        ({ label, meta }) =>
          html`<label
            >${label}
            <input
              name=${meta.name}
              inputmode="numeric"
              pattern="[0-9]*"
              autocomplete="off"
              aria-label=${this.text.guessOf(label)}
              .value=${String(this.guesses?.[meta.name] ?? "")}
          /></label>`,
      )}
      <button class="main">${this.text.runToEnd}</button>
    </form>`;
  }

  #answer(guesses: Record<string, number>): TemplateResult {
    const { text, telling } = this;
    const rows = this.#asked().map(({ label, meta }) => {
      const value = this.facts.find((fact) => fact.name === meta.name)?.value ?? null;
      return { label, meta, value, guess: guesses[meta.name], hit: guesses[meta.name] === value };
    });
    return html`<div class="answer">
      <table>
        <thead>
          <tr>
            <th><span class="unseen">${text.fact}</span></th>
            <th scope="col">${text.yours}</th>
            <th scope="col">${text.here}</th>
            <th scope="col">${text.book}</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ({ label, meta, value, guess, hit }) =>
              html`<tr>
                <th scope="row">${label}</th>
                <td class=${hit ? "hit" : "off"}>${guess ?? text.nothingYet}</td>
                <td>${factText(value, meta, text)}</td>
                <td>${factText(meta.book, meta, text)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      <p role="status">${rows.every((row) => row.hit) ? text.allRight : text.notAsGuessed}</p>
      ${
        telling === undefined
          ? nothing
          : html`<button @click=${() => command(this, { do: "select-record", record: telling })}>
              ${text.seeWhy(telling)}
            </button>`
      }
    </div>`;
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    const guesses: Record<string, number> = {};
    for (const input of this.renderRoot.querySelectorAll("input")) {
      const guess = Number.parseInt(input.value, 10);
      if (Number.isFinite(guess)) guesses[input.name] = guess;
    }
    command(this, { do: "guess", guesses });
  }
}
