// Which marks of a lane share a label: owns the rule that no two labels overlap. In: a lane's marks in order. Out: label lines.
// The rule looks at the marks and the run's scale alone, so a label stays as it is while the diagram scrolls.

import { MarkKind, type Mark } from "../engine.js";
import { markLabel } from "../describe.js";
import type { Messages } from "../messages/index.js";
import type { Scale } from "../scale.js";

export const LINE_PX = 14;
const LINES_MAX = 4;

/** These say that something went wrong or stopped. */
const ALARMS: ReadonlySet<MarkKind> = new Set([
  MarkKind.Failed,
  MarkKind.CutAfter,
  MarkKind.CutBefore,
  MarkKind.BatchExpired,
  MarkKind.Disconnected,
  MarkKind.Dying,
  MarkKind.Killed,
  MarkKind.Refused,
]);

export interface MarkLabel {
  y: number;
  lines: string[];
  marks: Mark[];
  alarm: boolean;
}

export function markLabels(marks: Mark[], scale: Scale, text: Messages): MarkLabel[] {
  const labels: MarkLabel[] = [];
  for (const group of groups(marks, scale)) {
    const lines = linesOf(group.marks, text);
    labels.push({ y: group.y, lines, marks: group.marks, alarm: group.marks.some((mark) => ALARMS.has(mark.kind)) });
  }
  return labels;
}

/** A mark joins the label above it if its own would overlap that one's lines. */
function groups(marks: Mark[], scale: Scale): { y: number; marks: Mark[] }[] {
  const found: { y: number; marks: Mark[] }[] = [];
  for (const mark of marks) {
    const y = scale.toY(mark.us);
    const last = found.at(-1);
    if (last && y - last.y < LINE_PX * Math.min(last.marks.length, LINES_MAX)) last.marks.push(mark);
    else found.push({ y, marks: [mark] });
  }
  return found;
}

/** One line per mark, marks of one kind together; the high watermark is left to the log unless it is all there is to say. */
function linesOf(marks: Mark[], text: Messages): string[] {
  const told = marks.filter((mark) => mark.kind !== MarkKind.HighWatermark);
  const lines: { first: Mark; previous: Mark | undefined; count: number }[] = [];
  for (const mark of told.length > 0 ? told : marks.slice(-1)) {
    const last = lines.at(-1);
    if (last?.first.kind === mark.kind) last.count += 1;
    else lines.push({ first: mark, previous: last?.first, count: 1 });
  }
  return lines
    .slice(0, LINES_MAX)
    .map(({ first, previous, count }) => markLabel(first, text, previous) + (count > 1 ? ` ×${count}` : ""));
}
