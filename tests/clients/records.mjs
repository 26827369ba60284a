// The records that every client sends, and how what was read is told: a line a record, and the SHA-256 of the lines.
import { createHash } from "node:crypto";

/** Keys, values and headers of every kind: with and without, null and not. */
export function* records(count) {
  for (let i = 0; i < count; i += 1) {
    const key = i % 4 === 0 ? null : `k${i}`;
    const value = i % 5 === 2 ? null : `value ${i}${"x".repeat(i % 50)}`;
    yield {
      key,
      value,
      headers:
        i % 3 === 0
          ? [
              ["h", "1"],
              ["n", null],
            ]
          : [],
    };
  }
}

/** One record of a million bytes. */
export const LARGE = [{ key: "big", value: "abcdefghij".repeat(100_000), headers: [] }];

const text = (before, data) => (data === null ? "null" : `${before}${data}`);

export function line({ key, value, headers }) {
  const told = headers.map(([name, content]) => `${name}=${text("", content)}`);
  return `${text("k:", key)}\t${text("v:", value)}\t${told.join(",")}\n`;
}

/** How many records, and the SHA-256 of their lines. */
export function digest(list) {
  const hash = createHash("sha256");
  let count = 0;
  for (const record of list) {
    hash.update(line(record));
    count += 1;
  }
  return { count, sha256: hash.digest("hex") };
}
