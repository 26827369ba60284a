// One frame, or a segment file, as fields beside bytes; what can be done to it is slotted in between. Pointing at either lights up the other; so do the arrow keys.

import { LitElement, css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";

import type { Bytes, Field } from "../engine.js";
import { hex, printable } from "../format.js";
import type { Messages } from "../messages/index.js";
import { shared } from "./theme.js";

/** So many bytes are drawn at first; the rest on demand. */
const PAGE = 512;

@customElement("step-inspector")
export class StepInspector extends LitElement {
  @property({ attribute: false }) content: Bytes | undefined;
  @property({ attribute: false }) heading = "";
  @property({ attribute: false }) text!: Messages;
  /** Index of the field that is lit. */
  @state() private lit = -1;
  @state() private pages = 1;

  static override styles = [
    shared,
    css`
      :host {
        container-type: inline-size;
      }
      p {
        margin: 4px 0 0;
        color: var(--_soft);
      }
      .both {
        display: grid;
        grid-template-columns: minmax(0, 1fr) auto;
        gap: 18px;
        margin-top: 8px;
      }
      .fields,
      .bytes {
        max-height: 340px;
        overflow: auto;
        overscroll-behavior: contain;
        scrollbar-width: thin;
        font: 12px/1.65 var(--_mono);
      }
      .field {
        display: flex;
        gap: 1ch;
        padding: 0 6px;
        padding-inline-start: calc(6px + var(--depth) * 1.5ch);
        border-radius: 3px;
        cursor: default;
      }
      .name {
        color: var(--_soft);
        flex: none;
      }
      .value {
        overflow-wrap: anywhere;
        min-width: 0;
      }
      .range {
        margin-inline-start: auto;
        color: var(--_soft);
        font-size: 11px;
        white-space: nowrap;
        opacity: 0;
      }
      .field.lit {
        background: var(--_mark);
      }
      .field.lit .range {
        opacity: 1;
      }
      .field.lit .name {
        color: var(--_ink);
      }
      .row {
        display: flex;
        white-space: pre;
      }
      .at {
        color: var(--_soft);
        margin-inline-end: 1.5ch;
      }
      .byte {
        padding: 0 0.3ch;
        cursor: default;
      }
      .byte.lit,
      .char.lit {
        background: var(--_mark);
      }
      .chars {
        margin-inline-start: 1.5ch;
        color: var(--_soft);
      }
      .char.lit {
        color: var(--_ink);
      }
      @container (max-width: 640px) {
        .both {
          grid-template-columns: minmax(0, 1fr);
        }
        .fields,
        .bytes {
          max-height: 230px;
        }
      }
      @container (max-width: 440px) {
        .chars {
          display: none;
        }
      }
    `,
  ];

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("content")) {
      this.lit = -1;
      this.pages = 1;
    }
  }

  override render(): TemplateResult {
    const { content, text } = this;
    if (!content)
      return html`<h3>${text.inspector}</h3>
        <p>${text.inspectorHelp}</p>`;
    const rest = content.bytes.length - this.pages * PAGE;
    return html`
      <h3>${this.heading} · ${text.byteCount(content.bytes.length)}</h3>
      <slot></slot>
      <div class="both" @pointerleave=${() => (this.lit = -1)}>
        <div
          class="fields"
          role="listbox"
          aria-label=${text.fields}
          tabindex="0"
          aria-activedescendant=${this.lit < 0 ? nothing : `field-${this.lit}`}
          @keydown=${this.#fieldKeys}
        >
          ${content.fields.map((field, index) => this.#field(field, index))}
        </div>
        <div
          class="bytes"
          role="group"
          aria-label=${text.bytes}
          tabindex="0"
          @keydown=${this.#byteKeys}
          @pointerover=${this.#point}
        >
          ${this.#rows(content.bytes.subarray(0, this.pages * PAGE))}
          ${
            rest > 0
              ? html`<button class="link" @click=${() => (this.pages += 8)}>
                  ${text.moreBytes(Math.min(rest, 8 * PAGE))}
                </button>`
              : nothing
          }
        </div>
      </div>
    `;
  }

  #field(field: Field, index: number): TemplateResult {
    return html`<div
      class=${classMap({ field: true, lit: index === this.lit })}
      id="field-${index}"
      role="option"
      aria-selected=${index === this.lit}
      style="--depth:${field.depth}"
      @pointerenter=${() => (this.lit = index)}
      @click=${() => this.#light(index)}
    >
      <span class="name">${field.name}</span><span class="value">${field.value}</span>
      <span class="range">${field.end > field.start ? this.text.byteRange(field.start, field.end) : nothing}</span>
    </div>`;
  }

  #rows(bytes: Uint8Array): TemplateResult[] {
    const perRow = this.getBoundingClientRect().width < 480 ? 8 : 16;
    const field = this.content?.fields[this.lit];
    const lit = (at: number): string => (field && at >= field.start && at < field.end ? " lit" : "");
    const rows: TemplateResult[] = [];
    for (let start = 0; start < bytes.length; start += perRow) {
      const row = [...bytes.subarray(start, start + perRow)];
      rows.push(
        html`<div class="row">
          <span class="at" aria-hidden="true">${start.toString(16).padStart(4, "0")}</span>${row.map(
            (byte, index) => html`<span class="byte${lit(start + index)}" data-at=${start + index}>${hex(byte)}</span>`,
          )}${row.length < perRow ? " ".repeat(1) : nothing}<span class="chars" aria-hidden="true"
            >${row.map((byte, index) => html`<span class="char${lit(start + index)}" data-at=${start + index}>${printable(byte)}</span>`)}</span
          >
        </div>`,
      );
    }
    return rows;
  }

  #point(event: PointerEvent): void {
    const at = event.target instanceof HTMLElement ? event.target.dataset["at"] : undefined;
    if (at !== undefined) this.#light(this.#deepestAt(Number(at)), ".field.lit");
  }

  /** The field that says most about a byte: of those that hold it, the one that stands last. */
  #deepestAt(at: number): number {
    return this.content?.fields.findLastIndex((field) => at >= field.start && at < field.end) ?? -1;
  }

  #light(index: number, scrollTo = ".byte.lit"): void {
    this.lit = index;
    void this.updateComplete.then(() => {
      const target = this.renderRoot.querySelector<HTMLElement>(scrollTo);
      const box = target?.closest<HTMLElement>(".fields, .bytes");
      // Scrolls the box alone: scrollIntoView would move the page under the reader.
      if (target && box) box.scrollTop = target.offsetTop - box.offsetTop - box.clientHeight / 3;
    });
  }

  #fieldKeys(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const last = (this.content?.fields.length ?? 0) - 1;
    if (by === undefined || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.min(Math.max(this.lit + by, 0), last);
    this.#light(next);
    this.renderRoot.querySelector(`#field-${next}`)?.scrollIntoView({ block: "nearest" });
  }

  #byteKeys(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const fields = this.content?.fields;
    if (by === undefined || !fields) return;
    event.preventDefault();
    event.stopPropagation();
    const from = fields[this.lit];
    const at = !from ? 0 : by > 0 ? from.end : from.start - 1;
    const next = this.#deepestAt(Math.max(at, 0));
    if (next >= 0) this.#light(next);
  }
}
