// Figures for prose: runs each experiment once per page to its end and keeps its facts. In: experiment and fact name.

import { loadLab, type FactMeta, type FactValue } from "./engine.js";
import { experimentBytes } from "./experiments.js";

export interface Figure {
  meta: FactMeta;
  value: FactValue;
}

const runs = new Map<string, Promise<Figure[]>>();

export async function figureOf(experiment: string, name: string): Promise<Figure> {
  const run = runs.get(experiment) ?? figures(experiment);
  runs.set(experiment, run);
  const found = (await run).find(({ meta }) => meta.name === name);
  if (!found) throw new Error(`The experiment “${experiment}” has no fact called “${name}”.`);
  return found;
}

async function figures(experiment: string): Promise<Figure[]> {
  const lab = await loadLab(await experimentBytes(experiment));
  lab.seek(lab.meta.endUs);
  const facts = lab.facts();
  const found = lab.meta.facts.map((meta) => ({
    meta,
    value: facts.find(({ name }) => name === meta.name)?.value ?? null,
  }));
  lab.free();
  return found;
}
