// <step-index>: the lab's front page. Lists the experiments and shows the one that the address names.

import { LitElement, css, html, type TemplateResult } from "lit";
import { customElement, state } from "lit/decorators.js";

import { loadLab, type Meta } from "../engine.js";
import { experimentBytes, experimentNames } from "../experiments.js";
import { languageOf, messages } from "../messages/index.js";
import { shared, tokens } from "./theme.js";

@customElement("step-index")
export class StepIndex extends LitElement {
  @state() private metas: Meta[] = [];

  static override styles = [
    tokens,
    shared,
    css`
      ul {
        list-style: none;
        display: flex;
        flex-wrap: wrap;
        gap: 8px;
        margin: 0;
        padding: 0;
      }
      a {
        display: block;
        padding: 6px 12px;
        border: 1px solid var(--_line);
        border-radius: 8px;
        color: var(--_ink);
        background: var(--_bg);
        text-decoration: none;
      }
      a:hover {
        border-color: var(--_soft);
      }
      a[aria-current="page"] {
        border-color: var(--_accent);
        box-shadow: inset 0 0 0 1px var(--_accent);
      }
      small {
        display: block;
        font: 12px var(--_mono);
        color: var(--_soft);
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
  }

  async #load(): Promise<void> {
    const labs = await Promise.all(experimentNames.map(async (name) => loadLab(await experimentBytes(name))));
    this.metas = labs.map((lab) => lab.meta);
    for (const lab of labs) lab.free();
  }

  override render(): TemplateResult {
    const language = languageOf(this);
    const chosen = new URLSearchParams(location.search).get("experiment") ?? experimentNames[0] ?? "";
    const address = (name: string): string =>
      `?${new URLSearchParams({ lang: language, experiment: name }).toString()}`;
    return html`
      <nav aria-label=${messages(language).experiments}>
        <ul>
          ${experimentNames.map(
            (name, index) =>
              html`<li>
                <a href=${address(name)} aria-current=${name === chosen ? "page" : "false"}
                  >${this.metas[index]?.title[language] ?? name}<small>${name}</small></a
                >
              </li>`,
          )}
        </ul>
      </nav>
      <step-lab experiment=${chosen}></step-lab>
    `;
  }
}
