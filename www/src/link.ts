// What a URL's fragment says of a run: owns its form. In: a run, what its reader did, where it stands. Out: a fragment, and back.
// The fragment names engine and experiment, so that it can be said when it no longer fits. A run that nobody acted on has none.

import type { Act, FrameAction, Meta } from "./engine.js";

export interface Link {
  experiment: string;
  engine: string;
  hash: string;
  seed: string;
  acts: Act[];
  us: number;
}

const ACTIONS: readonly string[] = ["hold", "cut-before", "cut-after", "send-again"] satisfies FrameAction[];

export function fragmentOf(meta: Meta, acts: readonly Act[], us: number): string {
  const said = new URLSearchParams({
    lab: meta.name,
    engine: meta.version,
    hash: meta.experimentHash,
    seed: meta.seed,
    at: String(us),
  });
  for (const { action, spanUs, ordinal, write, effect } of acts)
    said.append("act", [action, spanUs, ordinal, write, effect].join("."));
  return `#${said.toString()}`;
}

/** What the page's address says of this experiment, if it does. */
export function linkTo(experiment: string): Link | undefined {
  const said = new URLSearchParams(location.hash.slice(1));
  if (said.get("lab") !== experiment) return undefined;
  return {
    experiment,
    engine: said.get("engine") ?? "",
    hash: said.get("hash") ?? "",
    seed: said.get("seed") ?? "",
    acts: said.getAll("act").flatMap((text) => actOf(text) ?? []),
    us: Number(said.get("at")),
  };
}

export function fits(link: Link, meta: Meta): boolean {
  return link.engine === meta.version && link.hash === meta.experimentHash && Number.isSafeInteger(link.us);
}

/** Says where the reader is, once it has been quiet for a moment: browsers refuse too many changes. */
export class Address {
  #timer: ReturnType<typeof setTimeout> | undefined;

  says(fragment: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => history.replaceState(history.state, "", fragment), 200);
  }

  /** Takes back what it said of this experiment. */
  isSilent(experiment: string): void {
    clearTimeout(this.#timer);
    if (linkTo(experiment)) history.replaceState(history.state, "", location.pathname + location.search);
  }
}

function actOf(text: string): Act | undefined {
  const [action = "", ...numbers] = text.split(".");
  const [spanUs, ordinal, write, effect] = numbers.map(Number);
  if (!ACTIONS.includes(action) || ![spanUs, ordinal, write, effect].every(Number.isSafeInteger)) return undefined;
  return { action, spanUs, ordinal, write, effect } as Act;
}
