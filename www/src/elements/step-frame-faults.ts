// What a reader can do to the chosen frame: hold it, cut the connection before or after it, send it again.

import { LitElement, css, html, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import { command } from "../commands.js";
import { FrameKind, type Frame, type FrameAction } from "../engine.js";
import { span } from "../format.js";
import type { Messages } from "../messages/index.js";
import { shared } from "./theme.js";

/** Longer than a back-off, than a request's patience, than a delivery's. */
const HOLD_US: readonly number[] = [100_000, 1_000_000, 5_000_000, 35_000_000];

@customElement("step-frame-faults")
export class StepFrameFaults extends LitElement {
  @property({ attribute: false }) frame!: Frame;
  @property({ attribute: false }) text!: Messages;
  @state() private holdUs = 1_000_000;

  static override styles = [
    shared,
    css`
      div {
        display: flex;
        flex-wrap: wrap;
        gap: 6px;
        align-items: center;
        margin-top: 8px;
      }
      .hold {
        display: flex;
      }
      .hold button {
        border-start-end-radius: 0;
        border-end-end-radius: 0;
      }
      select {
        border: 1px solid var(--_line);
        border-inline-start: 0;
        border-start-end-radius: 7px;
        border-end-end-radius: 7px;
        background: var(--_bg);
        padding: 3px 4px;
      }
      button,
      select {
        font-size: 13px;
        min-height: 32px;
      }
      button:disabled {
        color: var(--_soft);
        border-style: dashed;
        cursor: default;
      }
      p {
        margin: 4px 0 0;
        font-size: 12.5px;
        color: var(--_soft);
      }
    `,
  ];

  override render(): TemplateResult {
    const { text } = this;
    return html`
      <div role="group" aria-label=${text.onFrame}>
        <span class="hold">
          ${this.#button("hold", this.holdUs)}
          <select
            aria-label=${text.holdFor}
            @change=${(event: Event) => {
              if (event.target instanceof HTMLSelectElement) this.holdUs = Number(event.target.value);
            }}
          >
            ${HOLD_US.map((us) => html`<option value=${us} ?selected=${us === this.holdUs}>${span(us)}</option>`)}
          </select>
        </span>
        ${this.#button("cut-before", 0)} ${this.#button("cut-after", 0)} ${this.#button("send-again", 0)}
      </div>
      <p>${text.onFrameHint}</p>
    `;
  }

  #button(action: FrameAction, spanUs: number): TemplateResult {
    const { frame, text } = this;
    const [name, does] = text.frameActions[action];
    // A client that got one answer twice would be lost.
    const disabled = action === "send-again" && frame.kind === FrameKind.Response;
    return html`<button
      title=${does}
      ?disabled=${disabled}
      @click=${() => command(this, { do: "act", frame: frame.id, action, spanUs })}
    >
      ${name}
    </button>`;
  }
}
