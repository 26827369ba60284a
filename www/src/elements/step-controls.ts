// Play, pause, step and back, the size of a step, the pace, and whether background traffic is shown.

import { LitElement, css, html, svg, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { command } from "../commands.js";
import type { StepKind } from "../engine.js";
import type { Messages } from "../messages/index.js";
import { PACES } from "../playback.js";
import { shared } from "./theme.js";

export const STEP_KINDS: readonly StepKind[] = ["event", "frame", "line", "moment"];

const icons = {
  toStart: svg`<path d="M4 3v10M13 3 6.5 8 13 13z" />`,
  back: svg`<path d="M11 3 4.5 8 11 13z" />`,
  play: svg`<path d="M5 3l8 5-8 5z" />`,
  pause: svg`<path d="M5.2 3.5v9M10.8 3.5v9" stroke-width="3" />`,
  forward: svg`<path d="M5 3l6.5 5L5 13z" />`,
  toEnd: svg`<path d="M12 3v10M3 3l6.5 5L3 13z" />`,
};

@customElement("step-controls")
export class StepControls extends LitElement {
  @property({ attribute: false }) text!: Messages;
  @property() by: StepKind = "event";
  @property() pace = "even";
  @property({ attribute: false }) endUs = 0;
  @property({ type: Boolean }) playing = false;
  @property({ type: Boolean }) fold = true;

  static override styles = [
    shared,
    css`
      :host {
        container-type: inline-size;
      }
      .all {
        display: flex;
        flex-wrap: wrap;
        gap: 8px 14px;
        align-items: center;
      }
      .group {
        display: flex;
        gap: 4px;
        align-items: center;
      }
      .group > button {
        padding: 5px 9px;
        line-height: 0;
        min-width: 36px;
        min-height: 32px;
      }
      button.main {
        min-width: 46px;
      }
      svg {
        width: 16px;
        height: 16px;
        fill: currentColor;
        stroke: currentColor;
        stroke-width: 1.6;
        stroke-linejoin: round;
      }
      fieldset {
        display: flex;
        border: 1px solid var(--_line);
        border-radius: 7px;
        margin: 0;
        padding: 0;
        overflow: clip;
      }
      fieldset label {
        position: relative;
        padding: 3px 9px;
        min-height: 30px;
        font-size: 13px;
        line-height: 24px;
        cursor: pointer;
      }
      fieldset label + label {
        border-inline-start: 1px solid var(--_line);
      }
      fieldset input {
        position: absolute;
        inset: 0;
        opacity: 0;
        cursor: pointer;
      }
      fieldset label:has(:checked) {
        background: var(--_line);
      }
      fieldset label:has(:focus-visible) {
        outline: 2px solid var(--_accent);
        outline-offset: -2px;
      }
      select {
        border: 1px solid var(--_line);
        border-radius: 7px;
        background: var(--_bg);
        padding: 3px 4px;
        min-height: 32px;
        font-size: 13px;
      }
      .fold {
        display: flex;
        gap: 6px;
        align-items: center;
        font-size: 13px;
        color: var(--_soft);
        min-height: 32px;
      }
      @container (max-width: 400px) {
        .all {
          gap: 6px 8px;
        }
        .group {
          gap: 3px;
        }
        .group > button {
          min-width: 33px;
          padding: 5px 7px;
        }
        button.main {
          min-width: 44px;
        }
        select {
          flex: 1 1 80px;
          min-width: 0;
        }
        fieldset label {
          padding-inline: 6px;
          font-size: 12.5px;
        }
        .fold {
          gap: 4px;
          font-size: 12.5px;
        }
      }
      .fold input {
        accent-color: var(--_accent);
        margin: 0;
      }
    `,
  ];

  override render(): TemplateResult {
    const { text, by } = this;
    const step = text.step[by];
    return html`<div class="all">
      <div class="group" role="group" aria-label=${text.controls}>
        ${this.#button(text.toStart, icons.toStart, () => command(this, { do: "seek", us: 0 }))}
        ${this.#button(text.stepBack(step), icons.back, () => command(this, { do: "step", kind: by, direction: -1 }))}
        ${this.#button(
          this.playing ? text.pause : text.play,
          this.playing ? icons.pause : icons.play,
          () => command(this, { do: "play-or-pause" }),
          "main",
        )}
        ${this.#button(text.stepForward(step), icons.forward, () => command(this, { do: "step", kind: by, direction: 1 }))}
        ${this.#button(text.toEnd, icons.toEnd, () => command(this, { do: "seek", us: this.endUs }))}
      </div>
      <select aria-label=${text.pace} @change=${this.#pace}>
        ${PACES.map(({ id }) => html`<option value=${id} ?selected=${id === this.pace}>${text.paces[id]}</option>`)}
      </select>
      <fieldset>
        <legend class="unseen">${text.stepBy}</legend>
        ${STEP_KINDS.map(
          (kind) =>
            html`<label
              ><input
                type="radio"
                name="by"
                .checked=${kind === by}
                @change=${() => command(this, { do: "step-by", kind })}
              />${text.step[kind]}</label
            >`,
        )}
      </fieldset>
      <label class="fold" title=${text.backgroundHint}
        ><input type="checkbox" .checked=${!this.fold} @change=${this.#fold} />${text.background}</label
      >
    </div>`;
  }

  #button(label: string, icon: TemplateResult, action: () => void, style = ""): TemplateResult {
    return html`<button class=${style} aria-label=${label} title=${label} @click=${action}>
      <svg viewBox="0 0 16 16" aria-hidden="true">${icon}</svg>
    </button>`;
  }

  #pace(event: Event): void {
    if (event.target instanceof HTMLSelectElement) command(this, { do: "pace", id: event.target.value });
  }

  #fold(event: Event): void {
    if (event.target instanceof HTMLInputElement) command(this, { do: "fold", fold: !event.target.checked });
  }
}
