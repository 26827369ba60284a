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
        "branches branches branches"
        "left stage right"
        "drive drive drive"
        "below below below"
        "footer footer footer" / minmax(230px, 0.8fr) minmax(0, 1.7fr) minmax(230px, 0.85fr);
      grid-template-rows: auto;
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
    h2 {
      margin: 0;
      font: 600 16.5px/1.4 var(--_sans);
    }
    header p {
      margin: 2px 0 0;
      color: var(--_soft);
      max-width: 96ch;
      text-wrap: pretty;
    }
    .lab:lang(zh) header p {
      max-width: 52em;
    }
    .question {
      grid-area: question;
      background: var(--_panel);
      border-bottom: 1px solid var(--_line);
    }
    .stale,
    .branches {
      grid-area: branches;
      border-bottom: 1px solid var(--_line);
    }
    .stale {
      margin: 0;
      background: var(--_mark);
    }
    .left {
      grid-area: left;
      display: grid;
      gap: 14px;
      align-content: start;
    }
    .right {
      grid-area: right;
      display: grid;
      gap: 14px;
      align-content: start;
    }
    .aside {
      display: grid;
      gap: 14px;
    }
    .stage {
      grid-area: stage;
      border-inline: 1px solid var(--_line);
      padding: 0;
      --step-diagram-height: 520px;
    }
    .logs {
      --step-cells-height: 276px;
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
          "branches branches"
          "stage left"
          "drive drive"
          "right right"
          "below below"
          "footer footer" / minmax(0, 1.35fr) minmax(240px, 1fr);
      }
      .stage {
        border-inline-start: 0;
      }
      .right {
        grid-template-columns: minmax(0, 1.35fr) minmax(240px, 1fr);
        border-bottom: 1px solid var(--_line);
        gap: 24px;
      }
      .logs {
        --step-cells-height: 176px;
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
        display: flex;
        flex-direction: column;
      }
      .left,
      .right {
        display: contents;
      }
      .lab > *,
      .logs,
      .aside,
      .facts,
      .program {
        padding: 10px 12px;
      }
      .lab > .stage {
        padding: 0;
        border: 0;
        --step-diagram-height: clamp(250px, calc(100svh - 330px), 420px);
      }
      .stage {
        order: 1;
      }
      .drive {
        order: 2;
        position: sticky;
        bottom: 0;
        z-index: 1;
        gap: 8px;
      }
      .logs {
        order: 3;
        --step-cells-height: 152px;
      }
      .below {
        order: 4;
      }
      .facts {
        order: 5;
      }
      .program {
        order: 6;
      }
      .aside {
        order: 7;
      }
      footer {
        order: 8;
      }
      .below,
      .facts,
      .program,
      .aside {
        border-top: 1px solid var(--_line);
      }
      .why,
      .inspector {
        padding: 10px 12px;
      }
    }
  `,
];
