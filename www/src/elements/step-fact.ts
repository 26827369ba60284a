// <step-fact experiment="acks-0" name="lost">: one figure in a sentence, computed by running the experiment to its end.

import { LitElement, css, html, type PropertyValues, type TemplateResult } from "lit";
import { customElement, property, state } from "lit/decorators.js";

import { figureOf, type Figure } from "../figures.js";
import { languageOf, messages } from "../messages/index.js";
import { factText } from "./step-facts.js";

@customElement("step-fact")
export class StepFact extends LitElement {
  @property() experiment = "";
  @property() name = "";
  @property() override lang = "";
  @state() private figure: Figure | "failed" | undefined;

  static override styles = css`
    :host {
      font-variant-numeric: tabular-nums;
    }
  `;

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("experiment") || changed.has("name")) void this.#compute();
  }

  async #compute(): Promise<void> {
    try {
      this.figure = await figureOf(this.experiment, this.name);
    } catch (error) {
      this.figure = "failed";
      this.title = error instanceof Error ? error.message : String(error);
    }
  }

  override render(): TemplateResult {
    const text = messages(languageOf(this));
    if (this.figure === undefined) return html`<slot>…</slot>`;
    if (this.figure === "failed") return html`<span>${text.factFailed}</span>`;
    return html`<span>${factText(this.figure.value, this.figure.meta, text)}</span>`;
  }
}
