// The whole run as one track, painted with outages and moments; dragging and keys seek.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";

import { command } from "../commands.js";
import { laneName } from "../describe.js";
import type { Meta, Outage } from "../engine.js";
import { clock, seconds } from "../format.js";
import type { Messages } from "../messages/index.js";
import { shared } from "./theme.js";

/** PageUp and PageDown. */
const LEAP_US = 1_000_000;

@customElement("step-scrubber")
export class StepScrubber extends LitElement {
  @property({ attribute: false }) meta!: Meta;
  @property({ attribute: false }) us = 0;
  @property({ attribute: false }) text!: Messages;

  static override styles = [
    shared,
    css`
      .track {
        position: relative;
        height: 30px;
        border-radius: 6px;
        background: var(--_data-fill);
        cursor: pointer;
        touch-action: none;
      }
      .done {
        position: absolute;
        inset: auto auto 0 0;
        height: 3px;
        background: var(--_data);
        border-radius: 0 0 0 6px;
      }
      .away {
        position: absolute;
        inset: 0 auto 0 0;
        overflow: clip;
        background: repeating-linear-gradient(135deg, var(--_lost-fill) 0 6px, transparent 6px 11px), var(--_bg);
        border-inline: 1px solid var(--_lost);
      }
      .dying {
        position: absolute;
        inset: 0 auto 0 0;
        background: var(--_lost);
        min-width: 2px;
      }
      .start {
        position: absolute;
        inset: 0 auto 0 0;
        border-inline-start: 1px dashed var(--_warn);
      }
      .tag {
        position: absolute;
        top: 6px;
        padding-inline: 5px;
        font-size: 11.5px;
        line-height: 18px;
        white-space: nowrap;
        color: var(--_ink);
        pointer-events: none;
      }
      .moment {
        position: absolute;
        bottom: 0;
        width: 2px;
        height: 8px;
        margin-inline-start: -1px;
        background: var(--_ink);
        opacity: 0.55;
      }
      .now {
        position: absolute;
        inset: -4px auto -4px 0;
        width: 3px;
        margin-inline-start: -1.5px;
        background: var(--_accent);
        border-radius: 2px;
      }
      .now::before {
        content: "";
        position: absolute;
        top: -4px;
        inset-inline-start: -4px;
        width: 11px;
        height: 11px;
        border-radius: 50%;
        background: var(--_accent);
      }
    `,
  ];

  override render(): TemplateResult {
    const { meta, us, text } = this;
    return html`<div
      class="track"
      role="slider"
      tabindex="0"
      aria-label=${text.position}
      aria-description=${meta.outages.map((outage) => this.#outageText(outage)).join("; ")}
      aria-valuemin="0"
      aria-valuemax=${meta.endUs}
      aria-valuenow=${us}
      aria-valuetext=${text.positionOf(clock(us), seconds(meta.endUs))}
      @pointerdown=${this.#drag}
      @pointermove=${this.#drag}
      @keydown=${this.#keys}
    >
      ${meta.outages.map((outage) => this.#outage(outage))}
      ${meta.moments.filter((at) => at >= 0).map((at) => html`<span class="moment" style="left:${this.#percent(at)}"></span>`)}
      <span class="done" style="width:${this.#percent(us)}"></span>
      <span class="now" style="left:${this.#percent(us)}"></span>
    </div>`;
  }

  #outage(outage: Outage): TemplateResult {
    const end = outage.servingUs ?? this.meta.endUs;
    const width = (from: number, to: number): string => `left:${this.#percent(from)};width:${this.#share(to - from)}`;
    return html`
      <span class="away" style=${width(outage.dyingUs, end)} title=${this.#outageText(outage)}
        ><span class="tag">${this.text.away}</span></span
      >
      <span class="dying" style=${width(outage.dyingUs, outage.deadUs)}></span>
      ${
        outage.startUs === null || outage.startUs === outage.servingUs
          ? nothing
          : html`<span class="start" style=${width(outage.startUs, end)}
              ><span class="tag">${this.text.starting}</span></span
            >`
      }
    `;
  }

  #outageText(outage: Outage): string {
    const node = laneName(this.meta, outage.lane, this.text);
    const from = seconds(outage.dyingUs);
    return outage.servingUs === null
      ? this.text.outageOpen(node, from)
      : this.text.outage(node, from, seconds(outage.servingUs));
  }

  #share(us: number): string {
    return `${((100 * us) / Math.max(this.meta.endUs, 1)).toFixed(3)}%`;
  }

  #percent(us: number): string {
    return this.#share(Math.max(us, 0));
  }

  #drag(event: PointerEvent): void {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    else if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    command(this, { do: "seek", us: Math.round(share * this.meta.endUs) });
  }

  /** Arrows step as everywhere in the lab; a slider also leaps. */
  #keys(event: KeyboardEvent): void {
    const leap = event.key === "PageUp" ? -LEAP_US : event.key === "PageDown" ? LEAP_US : 0;
    if (leap === 0) return;
    event.preventDefault();
    event.stopPropagation();
    command(this, { do: "seek", us: Math.min(Math.max(this.us + leap, 0), this.meta.endUs) });
  }
}
