// How the parts of a lab lie: three columns where there is room, two, or one. On a phone the diagram and the controls are on
// screen together, because the controls stick to the lower edge for as long as the lab is in sight.

import { css } from "lit";

import { shared, tokens } from "./theme.js";

export const labStyles = [
  tokens,
  shared,
  css`
    :host {
      container: lab / inline-size;
      margin-block: 1.5em;
    }
    .lab {
      display: grid;
      grid-template:
        "header header header"
        "question question question"
        "program stage logs"
        "facts stage logs"
        "drive drive drive"
        "below below below"
        "footer footer footer" / minmax(230px, 0.8fr) minmax(0, 1.7fr) minmax(230px, 0.85fr);
      grid-template-rows: auto auto auto 1fr auto auto auto;
      background: var(--_bg);
      border: 1px solid var(--_line);
      border-radius: 10px;
    }
    .note {
      display: block;
      padding: 16px;
    }
    .wait {
      min-height: 420px;
      color: var(--_soft);
    }
    .lab > * {
      padding: 12px 16px;
      min-width: 0;
    }
    header {
      grid-area: header;
      border-bottom: 1px solid var(--_line);
    }
    h3 {
      margin: 0;
      font: 600 16.5px/1.4 var(--_sans);
    }
    header p {
      margin: 2px 0 0;
      color: var(--_soft);
      max-width: 80ch;
      text-wrap: pretty;
    }
    .lab:lang(zh) header p {
      max-width: 44em;
    }
    .question {
      grid-area: question;
      background: var(--_panel);
      border-bottom: 1px solid var(--_line);
    }
    .program {
      grid-area: program;
      padding-bottom: 0;
    }
    .facts {
      grid-area: facts;
    }
    .facts step-program {
      margin-top: 14px;
    }
    .stage {
      grid-area: stage;
      border-inline: 1px solid var(--_line);
      padding: 0;
      --step-diagram-height: 520px;
    }
    .logs {
      grid-area: logs;
      --step-cells-height: 350px;
    }
    .drive {
      grid-area: drive;
      background: var(--_panel);
      border-block: 1px solid var(--_line);
      display: grid;
      gap: 10px;
    }
    .caption {
      margin: 0;
      display: flex;
      gap: 14px;
      align-items: baseline;
      min-width: 0;
      height: 1.5em;
    }
    .caption time {
      font: 600 14px/1.5 var(--_mono);
      font-variant-numeric: tabular-nums;
      white-space: nowrap;
      flex: none;
    }
    .caption span {
      min-width: 0;
      overflow: hidden;
      text-overflow: ellipsis;
      white-space: nowrap;
    }
    .lab > .below {
      grid-area: below;
      display: grid;
      grid-template-columns: minmax(0, 1fr) minmax(0, 1.7fr);
      padding: 0;
    }
    .why,
    .inspector {
      min-height: 130px;
      padding: 12px 16px;
    }
    .inspector {
      border-inline-start: 1px solid var(--_line);
    }
    footer {
      grid-area: footer;
      border-top: 1px solid var(--_line);
      color: var(--_soft);
      font-size: 13px;
      display: flex;
      flex-wrap: wrap;
      gap: 2px 24px;
      justify-content: space-between;
    }
    .lab > footer {
      padding-block: 6px;
    }
    footer p {
      margin: 0;
      font: 11.5px/1.8 var(--_mono);
    }
    summary {
      cursor: pointer;
    }
    dl {
      display: grid;
      grid-template-columns: auto 1fr;
      gap: 2px 16px;
      margin: 6px 0;
    }
    dt {
      font: 12px/1.6 var(--_mono);
      color: var(--_ink);
    }
    dd {
      margin: 0;
    }

    @container lab (max-width: 940px) {
      .lab {
        grid-template:
          "header header"
          "question question"
          "stage program"
          "stage facts"
          "drive drive"
          "logs logs"
          "below below"
          "footer footer" / minmax(0, 1.35fr) minmax(240px, 1fr);
        grid-template-rows: auto auto auto 1fr auto auto auto auto;
      }
      .stage {
        border-inline-start: 0;
      }
      .logs {
        --step-cells-height: 126px;
        border-bottom: 1px solid var(--_line);
      }
      .lab > .below {
        grid-template-columns: minmax(0, 1fr);
      }
      .why,
      .inspector {
        min-height: 0;
      }
      .inspector {
        border-inline-start: 0;
        border-top: 1px solid var(--_line);
      }
    }

    @container lab (max-width: 620px) {
      .lab {
        grid-template:
          "header"
          "question"
          "stage"
          "drive"
          "logs"
          "below"
          "facts"
          "program"
          "footer" / minmax(0, 1fr);
        grid-template-rows: none;
      }
      .lab > * {
        padding: 10px 12px;
      }
      .lab > .stage {
        padding: 0;
        border: 0;
        --step-diagram-height: clamp(250px, calc(100svh - 330px), 420px);
      }
      .drive {
        position: sticky;
        bottom: 0;
        z-index: 1;
        gap: 8px;
      }
      .logs {
        --step-cells-height: 152px;
      }
      .facts,
      .program {
        border-top: 1px solid var(--_line);
      }
      .why,
      .inspector {
        padding: 10px 12px;
      }
      .logs {
        border: 0;
        border-bottom: 1px solid var(--_line);
      }
    }
  `,
];
