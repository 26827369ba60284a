// The program that a client runs, with the line it has reached; the same program in Java behind a second tab.

import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";

import type { ProgramMeta, ProgramState } from "../engine.js";
import type { Messages } from "../messages/index.js";
import { shared } from "./theme.js";

@customElement("step-program")
export class StepProgram extends LitElement {
  @property({ attribute: false }) program!: ProgramMeta;
  @property({ attribute: false }) state!: ProgramState;
  @property({ attribute: false }) text!: Messages;
  @state() private java = false;

  static override styles = [
    shared,
    css`
      header {
        display: flex;
        flex-wrap: wrap;
        gap: 4px 12px;
        align-items: baseline;
        justify-content: space-between;
        margin-bottom: 6px;
      }
      [role="tablist"] {
        display: flex;
        gap: 2px;
      }
      [role="tab"] {
        border: 0;
        background: none;
        border-radius: 5px;
        padding: 1px 8px;
        font-size: 12.5px;
        color: var(--_soft);
      }
      [role="tab"][aria-selected="true"] {
        background: var(--_line);
        color: var(--_ink);
      }
      ol {
        list-style: none;
        margin: 0 -10px;
        padding: 0;
        font: 12.5px/1.65 var(--_mono);
      }
      ol li {
        position: relative;
        padding: 0 10px;
        padding-inline-start: calc(10px + var(--depth) * 1.6ch + 1.6ch);
        text-indent: -1.6ch;
        border-inline-start: 3px solid transparent;
        min-height: 1.65em;
      }
      code {
        font: inherit;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      ol li.current {
        background: var(--_mark);
        border-inline-start-color: var(--_accent);
      }
      .wait {
        margin-inline-start: 1ch;
        font: 11px var(--_sans);
        color: var(--_warn);
      }
      ul {
        display: flex;
        flex-wrap: wrap;
        gap: 3px 5px;
        list-style: none;
        margin: 0 0 8px;
        padding: 0;
        font: 11px/1.5 var(--_mono);
        color: var(--_soft);
      }
      ul li {
        padding: 0 5px;
        border: 1px solid var(--_line);
        border-radius: 4px;
        overflow-wrap: anywhere;
      }
      b {
        color: var(--_ink);
      }
    `,
  ];

  override render(): TemplateResult {
    const { program, text } = this;
    return html`
      <header>
        <h3>${program.name}</h3>
        <div role="tablist" aria-label=${text.program(program.name)} @keydown=${this.#tabKeys}>
          ${this.#tab(false, text.programTab)} ${program.java.length > 0 ? this.#tab(true, text.javaTab) : nothing}
        </div>
      </header>
      <div role="tabpanel" id="panel" aria-label=${this.java ? text.javaTab : text.programTab}>
        ${
          this.java || program.config.length === 0
            ? nothing
            : html`<ul aria-label=${text.settings}>
                ${program.config.map(([key, value]) => html`<li>${key}=<b>${value}</b></li>`)}
              </ul>`
        }
        <ol>
          ${
            this.java
              ? program.java.map((line, index) => this.#line(line, 0, index === program.javaLine[this.state.line]))
              : program.lines.map((line, index) => this.#line(line.text, line.depth, index === this.state.line))
          }
        </ol>
      </div>
    `;
  }

  #tab(java: boolean, label: string): TemplateResult {
    const chosen = this.java === java;
    return html`<button
      role="tab"
      aria-selected=${chosen}
      aria-controls="panel"
      tabindex=${chosen ? 0 : -1}
      @click=${() => (this.java = java)}
    >
      ${label}
    </button>`;
  }

  #line(line: string, depth: number, current: boolean): TemplateResult {
    const waits = current && this.state.blocked ? html`<span class="wait">${this.text.waiting}</span>` : nothing;
    return html`<li class=${classMap({ current })} style="--depth:${depth}" aria-current=${current ? "step" : nothing}>
      <code>${line}</code>${waits}
    </li>`;
  }

  #tabKeys(event: KeyboardEvent): void {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.stopPropagation();
    this.java = !this.java;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  }
}
