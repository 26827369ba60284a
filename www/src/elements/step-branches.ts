// The courses of a run: as it was, and one for everything that the reader did; how they end differently. Chooses which is shown.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { command } from "../commands.js";
import { actedText } from "../describe.js";
import type { Branch, FactMeta, Meta } from "../engine.js";
import { seconds } from "../format.js";
import type { Language, Messages } from "../messages/index.js";
import { factText } from "./step-facts.js";
import { shared } from "./theme.js";

@customElement("step-branches")
export class StepBranches extends LitElement {
  @property({ attribute: false }) meta!: Meta;
  @property({ attribute: false }) branches: Branch[] = [];
  @property({ attribute: false }) current = 0;
  /** The reader has not guessed yet: how it ends is not told. */
  @property({ type: Boolean }) covered = false;
  @property({ attribute: false }) text!: Messages;
  @property() language: Language = "en";

  static override styles = [
    shared,
    css`
      .scroll {
        overflow-x: auto;
        scrollbar-width: thin;
        margin-top: 6px;
      }
      table {
        border-collapse: collapse;
        font-size: 13px;
      }
      th,
      td {
        padding: 3px 16px 3px 0;
        text-align: start;
        vertical-align: bottom;
        font-weight: 400;
      }
      td {
        font-variant-numeric: tabular-nums;
        font-weight: 600;
        max-width: 26ch;
        overflow-wrap: anywhere;
      }
      tbody tr {
        border-top: 1px solid var(--_line);
      }
      tbody th {
        color: var(--_soft);
      }
      button {
        text-align: start;
        min-height: 32px;
        line-height: 1.35;
        white-space: nowrap;
      }
      button[aria-pressed="true"] {
        border-color: var(--_accent);
        box-shadow: inset 0 -2px var(--_accent);
      }
      small {
        display: block;
        color: var(--_soft);
        font-size: 11.5px;
      }
      p {
        margin: 6px 0 0;
        color: var(--_soft);
      }
    `,
  ];

  override render(): TemplateResult {
    const { text, branches } = this;
    const differing = this.covered ? [] : this.meta.facts.filter((fact) => this.#differs(fact));
    return html`
      <h3>${text.courses}</h3>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col"><span class="unseen">${text.fact}</span></th>
              ${branches.map((branch, index) => html`<th scope="col">${this.#choice(branch, index)}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${differing.map(
              (fact) =>
                html`<tr>
                  <th scope="row">${fact.label[this.language]}</th>
                  ${branches.map((branch) => html`<td>${factText(valueIn(branch, fact), fact, text)}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${differing.length === 0 ? html`<p>${this.covered ? text.coursesCovered : text.coursesSame}</p>` : nothing}
    `;
  }

  #differs(fact: FactMeta): boolean {
    return new Set(this.branches.map((branch) => valueIn(branch, fact))).size > 1;
  }

  #choice(branch: Branch, index: number): TemplateResult {
    const { text, meta } = this;
    const { acted } = branch;
    return html`<button
      aria-pressed=${index === this.current}
      @click=${() => command(this, { do: "switch", branch: index })}
    >
      ${
        acted
          ? html`${actedText(meta, acted, text)}<small
                >${seconds(acted.us)}${branch.parent > 0 ? ` · ${text.afterCourse(branch.parent)}` : nothing}</small
              >`
          : text.asItWas
      }
    </button>`;
  }
}

function valueIn(branch: Branch, fact: FactMeta): Branch["ends"][number]["value"] {
  return branch.ends.find(({ name }) => name === fact.name)?.value ?? null;
}
