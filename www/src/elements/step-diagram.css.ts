// The look of the space-time diagram.

import { css } from "lit";

import { shared } from "./theme.js";

export const diagramStyles = [
  shared,
  css`
    :host {
      height: 100%;
    }
    .box {
      position: relative;
      height: 100%;
      min-height: var(--step-diagram-height, 460px);
      overflow: clip;
      border-radius: 6px;
    }
    svg {
      position: absolute;
      inset: 0;
      user-select: none;
    }
    text {
      font: 11.5px var(--_sans);
      fill: var(--_ink);
      paint-order: stroke;
      stroke: var(--_bg);
      stroke-width: 3.5px;
      stroke-linejoin: round;
    }
    .small text {
      font-size: 10.5px;
    }
    .head {
      fill: var(--_bg);
    }
    text.name {
      font: 600 13px var(--_sans);
    }
    text.tick {
      font: 10.5px var(--_mono);
      fill: var(--_soft);
    }
    .lane {
      stroke: var(--_lane);
      stroke-width: 3;
    }
    .ahead {
      stroke-width: 2;
      stroke-dasharray: 1 7;
      stroke-linecap: round;
    }
    .lane-off {
      stroke: var(--_bg);
      stroke-width: 5;
    }
    .lane-dying {
      stroke: var(--_warn);
      stroke-width: 5;
      stroke-dasharray: 3 2;
    }
    .lane-dead {
      stroke: var(--_lost);
      stroke-width: 2;
      stroke-dasharray: 2 5;
    }
    .lane-starting {
      stroke: var(--_warn);
      stroke-width: 2;
      stroke-dasharray: 6 4;
    }
    .quiet rect {
      fill: var(--_panel);
    }
    .quiet path {
      fill: none;
      stroke: var(--_lane);
      stroke-width: 1;
    }
    .quiet text {
      fill: var(--_soft);
      stroke: var(--_panel);
      font-variant-numeric: tabular-nums;
    }
    line.now {
      stroke: var(--_accent);
      stroke-width: 1.5;
    }
    text.now {
      font: 600 11px var(--_mono);
      fill: var(--_accent);
    }
    .frame {
      cursor: pointer;
      --kind: var(--_meta);
    }
    .data {
      --kind: var(--_data);
    }
    .ack {
      --kind: var(--_ack);
    }
    .fetch {
      --kind: var(--_fetch);
    }
    .frame.lost {
      --kind: var(--_lost);
    }
    .hit {
      stroke: transparent;
      stroke-width: 14;
    }
    .shaft {
      stroke: var(--kind);
      stroke-width: 1.8;
    }
    .conn .shaft {
      stroke-dasharray: 4 3;
      stroke-width: 1.4;
    }
    .tip,
    .frame circle {
      fill: var(--kind);
    }
    .cross {
      fill: none;
      stroke: var(--_lost);
      stroke-width: 2.5;
    }
    .label {
      font: 11px var(--_mono);
    }
    .lost .label {
      fill: var(--_lost);
    }
    .frame:hover .shaft {
      stroke-width: 3;
    }
    .selected .shaft {
      stroke-width: 3.4;
    }
    .selected .label {
      font-weight: 700;
    }
    .mark circle {
      fill: var(--_bg);
      stroke: var(--_lane);
      stroke-width: 1.5;
    }
    .mark.alarm text {
      fill: var(--_lost);
    }
    .mark.alarm circle {
      stroke: var(--_lost);
    }
  `,
];
