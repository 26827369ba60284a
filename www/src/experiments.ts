// Where experiments come from: owns their addresses. In: a name. Out: its compiled bytes, fetched once from beside this script.

/** Names of all experiments, from the folders of tests/experiments; see vite.config.ts. */
declare const EXPERIMENTS: string[];
export const experimentNames: readonly string[] = EXPERIMENTS;

const base = new URL(import.meta.env.DEV ? "/experiments/" : "./experiments/", import.meta.url);
const fetched = new Map<string, Promise<Uint8Array>>();

export function experimentBytes(name: string): Promise<Uint8Array> {
  const known = fetched.get(name);
  if (known) return known;
  const bytes = fetchBytes(name);
  fetched.set(name, bytes);
  return bytes;
}

async function fetchBytes(name: string): Promise<Uint8Array> {
  if (!experimentNames.includes(name)) {
    throw new Error(`There is no experiment called “${name}”. There are: ${experimentNames.join(", ")}.`);
  }
  const response = await fetch(new URL(`${name}.bin`, base));
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}
