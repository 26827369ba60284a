// What the parts of a lab ask of it. Parts know nothing of the engine: state flows down to them as properties, commands bubble up.

import type { FrameAction, StepKind } from "./engine.js";

export type Command =
  | { do: "play-or-pause" }
  | { do: "run-to-end" }
  | { do: "step"; kind: StepKind; direction: 1 | -1 }
  | { do: "seek"; us: number }
  | { do: "seek-event"; event: number; frame: number }
  | { do: "select-frame"; frame: number }
  | { do: "act"; frame: number; action: FrameAction; spanUs: number }
  | { do: "switch"; branch: number }
  | { do: "select-record"; record: number }
  | { do: "select-segment"; partition: number }
  | { do: "step-by"; kind: StepKind }
  | { do: "pace"; id: string }
  | { do: "fold"; fold: boolean }
  | { do: "guess"; guesses: Record<string, number> };

export class CommandEvent extends Event {
  static readonly type = "step-command";
  readonly command: Command;

  constructor(command: Command) {
    super(CommandEvent.type, { bubbles: true, composed: true });
    this.command = command;
  }
}

export function command(from: EventTarget, what: Command): void {
  from.dispatchEvent(new CommandEvent(what));
}
