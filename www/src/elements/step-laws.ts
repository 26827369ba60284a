// The run's laws: sentences that hold in every run of the experiment, with their verdict at the end.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import type { Fact, FactMeta } from "../engine.js";
import type { Language, Messages } from "../messages/index.js";
import { factTitle, isLaw, verdict } from "./step-facts.js";
import { shared } from "./theme.js";

@customElement("step-laws")
export class StepLaws extends LitElement {
  @property({ attribute: false }) metas!: FactMeta[];
  @property({ attribute: false }) facts!: Fact[];
  @property({ attribute: false }) text!: Messages;
  @property() language: Language = "en";
  @property({ type: Boolean }) ended = false;

  static override styles = [
    shared,
    css`
      ul {
        list-style: none;
        margin: 4px 0 0;
        padding: 0;
        font-size: 13px;
        line-height: 1.45;
      }
      li {
        display: grid;
        grid-template-columns: 2.4ch 1fr;
        padding: 1px 0;
      }
      .open {
        color: var(--_soft);
      }
      .holds {
        color: var(--_data);
      }
      .broken {
        color: var(--_lost);
      }
    `,
  ];

  override render(): TemplateResult | typeof nothing {
    const { text } = this;
    const laws = this.metas.flatMap((meta, index) => (isLaw(meta) ? { meta, fact: this.facts[index] } : []));
    if (laws.length === 0) return nothing;
    return html`<h3>${text.laws}</h3>
      <ul>
        ${laws.map(({ meta, fact }) => {
          const told = verdict(fact, this.ended, text);
          return html`<li title=${factTitle(meta, text, this.language)}>
            <span
              >${told === nothing ? html`<span class="open" role="img" aria-label=${text.notYet}>·</span>` : told}</span
            >
            <span>${meta.label[this.language]}</span>
          </li>`;
        })}
      </ul>`;
  }
}
