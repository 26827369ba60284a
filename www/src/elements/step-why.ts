// Why a record's fate is what it is: links along provenance, effect first, each of which jumps to its instant.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { command } from "../commands.js";
import { whyText } from "../describe.js";
import { RecordState, type Meta, type RecordCell, type WhyLink } from "../engine.js";
import { clock } from "../format.js";
import type { Messages } from "../messages/index.js";
import { shared } from "./theme.js";

@customElement("step-why")
export class StepWhy extends LitElement {
  @property({ attribute: false }) meta!: Meta;
  @property({ attribute: false }) record: RecordCell | undefined;
  @property({ attribute: false }) links: WhyLink[] = [];
  /** Where the lab stands: the link of this event is marked. */
  @property({ attribute: false }) event = -1;
  @property({ attribute: false }) text!: Messages;

  static override styles = [
    shared,
    css`
      p {
        margin: 4px 0 0;
        color: var(--_soft);
      }
      ol {
        list-style: none;
        margin: 6px 0 0;
        padding: 0;
      }
      li {
        display: flex;
        gap: 12px;
        padding: 2px 0;
      }
      time {
        flex: none;
        font: 11.5px/1.83 var(--_mono);
        color: var(--_soft);
        white-space: nowrap;
      }
      .because {
        color: var(--_soft);
      }
      [aria-current="step"] {
        background: var(--_mark);
        border-radius: 3px;
      }
    `,
  ];

  override render(): TemplateResult {
    const { text, record } = this;
    if (!record || this.links.length === 0)
      return html`<h3>${text.why}</h3>
        <p>${text.whyHelp}</p>`;
    return html`
      <h3>${this.#title(record)}</h3>
      <ol>
        ${this.links.map(
          (link, index) =>
            html`<li>
              <time>${clock(link.us)}</time>
              <span>
                ${index === 0 ? nothing : html`<span class="because">${isTold(link) ? text.andYet : text.because}</span>`}
                <button
                  class="link"
                  aria-current=${link.event === this.event ? "step" : "false"}
                  @click=${() => command(this, { do: "seek-event", event: link.event, frame: link.frame })}
                >
                  ${whyText(this.meta, link, text)}
                </button>
              </span>
            </li>`,
        )}
      </ol>
    `;
  }

  #title({ record, state }: RecordCell): string {
    const titles = this.text.whyTitle;
    if (state === RecordState.Lost) return titles.lost(record);
    if (state === RecordState.Failed) return titles.failed(record);
    if (state === RecordState.FailedButInLog) return titles.failedButInLog(record);
    return titles.fine(record);
  }
}

/** What the producer was told is no cause of the record's fate: it begins a chain of its own. */
function isTold(link: WhyLink): boolean {
  return link.mark === "ok" || link.mark === "failed";
}
