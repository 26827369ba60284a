// Colours and shared rules of all elements: owns every colour as a custom property, for light and dark, that a page may set itself.

import { css } from "lit";

/** On `<step-lab>`; custom properties reach into every element below it. */
export const tokens = css`
  :host {
    --_bg: var(--step-bg, light-dark(#ffffff, #191c22));
    --_panel: var(--step-panel, light-dark(#f8f7f4, #1f232a));
    --_ink: var(--step-ink, light-dark(#1f242c, #e7e5df));
    --_soft: var(--step-soft, light-dark(#5c6470, #a3a9b3));
    --_line: var(--step-line, light-dark(#e2ded6, #333943));
    --_lane: var(--step-lane, light-dark(#c4beb2, #4a515d));
    --_accent: var(--step-accent, light-dark(#1d5bb8, #86b5ff));
    --_on-accent: var(--step-on-accent, light-dark(#ffffff, #10151d));
    --_data: var(--step-data, light-dark(#14695a, #58cfae));
    --_data-fill: var(--step-data-fill, light-dark(#d3e8e1, #234a41));
    --_ack: var(--step-ack, light-dark(#6a4bb5, #bba2ff));
    --_fetch: var(--step-fetch, light-dark(#96590a, #e8b25f));
    --_meta: var(--step-meta, light-dark(#6b7280, #969da8));
    --_lost: var(--step-lost, light-dark(#bb2443, #ff8398));
    --_lost-fill: var(--step-lost-fill, light-dark(#fbe4e8, #45222b));
    --_warn: var(--step-warn, light-dark(#95600a, #efbf6a));
    --_mark: var(--step-mark, light-dark(#fff0bd, #4b4119));
    --_mono: var(--step-mono, ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace);
    --_sans: var(
      --step-sans,
      system-ui,
      -apple-system,
      "Segoe UI",
      "PingFang SC",
      "Microsoft YaHei",
      "Noto Sans CJK SC",
      sans-serif
    );
  }
`;

/** In every element. */
export const shared = css`
  :host {
    display: block;
    min-width: 0;
    color: var(--_ink);
    font: 14px/1.5 var(--_sans);
  }
  :host([hidden]) {
    display: none;
  }
  *,
  *::before {
    box-sizing: border-box;
  }
  h3 {
    margin: 0;
    font: 600 12.5px/1.5 var(--_sans);
    color: var(--_soft);
  }
  button,
  select,
  input {
    font: inherit;
    color: inherit;
  }
  button {
    background: var(--_bg);
    border: 1px solid var(--_line);
    border-radius: 7px;
    padding: 3px 10px;
    cursor: pointer;
  }
  button:hover {
    border-color: var(--_soft);
  }
  button.main {
    background: var(--_accent);
    border-color: var(--_accent);
    color: var(--_on-accent);
  }
  button.link {
    border: 0;
    background: none;
    padding: 0;
    color: var(--_accent);
    text-align: start;
    text-decoration: underline dotted;
    text-underline-offset: 3px;
  }
  button.link:hover {
    text-decoration-style: solid;
  }
  :focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 1px;
  }
  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;
