// The keyboard of a lab: owns which key means which command. A key with Ctrl, Alt or Meta is the browser's.

import type { Command } from "./commands.js";
import type { StepKind } from "./engine.js";
import { PACES } from "./playback.js";

/** `leave`: not ours. `typing`: the field with the focus takes it, and nobody else may. */
export type KeyMeaning = Command | "leave" | "typing";

interface Standing {
  by: StepKind;
  fold: boolean;
  pace: string;
  endUs: number;
}

const STEP_KEYS: Partial<Record<string, StepKind>> = { e: "event", f: "frame", l: "line", m: "moment" };

/** Slowest first. */
const FASTER: readonly string[] = ["even-slow", "even", "even-fast", "clock", "clock-ten"];

export function commandOf(event: KeyboardEvent, standing: Standing): KeyMeaning {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab" || event.key === "Escape") return "leave";
  const target = event.composedPath()[0];
  if (target instanceof HTMLInputElement && target.type === "text") return "typing";
  if (target instanceof HTMLSelectElement) return "typing";
  const presses =
    target instanceof HTMLButtonElement ||
    target instanceof HTMLInputElement ||
    (target instanceof HTMLElement && target.tagName === "SUMMARY");
  if (presses && (event.key === " " || event.key === "Enter")) return "typing";
  return plain(event.key, standing);
}

function plain(key: string, standing: Standing): KeyMeaning {
  switch (key) {
    case " ":
      return { do: "play-or-pause" };
    case "ArrowLeft":
      return { do: "step", kind: standing.by, direction: -1 };
    case "ArrowRight":
      return { do: "step", kind: standing.by, direction: 1 };
    case "Home":
      return { do: "seek", us: 0 };
    case "End":
      return { do: "seek", us: standing.endUs };
    case "b":
    case "B":
      return { do: "fold", fold: !standing.fold };
    case "+":
    case "=":
      return { do: "pace", id: neighbour(standing.pace, 1) };
    case "-":
    case "−":
      return { do: "pace", id: neighbour(standing.pace, -1) };
    default: {
      const by = STEP_KEYS[key.toLowerCase()];
      return by ? { do: "step-by", kind: by } : "leave";
    }
  }
}

function neighbour(pace: string, by: 1 | -1): string {
  const at = Math.max(FASTER.indexOf(pace), 0);
  return FASTER[Math.min(Math.max(at + by, 0), FASTER.length - 1)] ?? PACES[0].id;
}
