// How numbers and instants are written. Out: short texts with a fixed number of digits, so that a running clock does not wobble.

/** `3.000 120 s`: to the µs, thousands apart by a thin space. */
export function clock(us: number): string {
  const sign = us < 0 ? "−" : "";
  const [seconds, micros] = [Math.trunc(Math.abs(us) / 1e6), String(Math.abs(us) % 1e6).padStart(6, "0")];
  return `${sign}${seconds}.${micros.slice(0, 3)}\u2009${micros.slice(3)} s`;
}

/** `3.000 s`: for axes and sentences, where the µs would be noise. */
export function seconds(us: number): string {
  return `${signed((us / 1e6).toFixed(3))} s`;
}

/** `4.98 s`, `120 ms`. */
export function span(us: number): string {
  return us < 1e6 ? `${Math.round(us / 1e3)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

/** With a true minus sign. */
export function signed(value: number | string): string {
  return String(value).replace("-", "−");
}

/** `27 335`: thousands apart by a thin space. */
export function grouped(value: number): string {
  return signed(String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009"));
}

export function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

export function printable(byte: number): string {
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·";
}
