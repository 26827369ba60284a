// The engine: owns the two wasms and is the only module that imports them.
// In: an experiment's compiled bytes and a seed. Out: a `Lab` that stands at one position of one run and answers what is there.
//
// All instants are integer microseconds since t = 0 (the end of warm-up); warm-up instants are negative. A position is an instant
// *and* an ordinal: several events may share a microsecond, and a step by event moves between them. `seek(us)` stands after the
// last event at or before `us`.
//
// What is drawn each frame comes as one Float64Array (see `decodeView`); control calls and details come as plain objects.
// The Rust side is crate/src/web.rs over crate/src/view/.

import init, { Lab as WasmLab, names_codec, set_codecs } from "../pkg/steplog.js";
import wasmUrl from "../pkg/steplog_bg.wasm?url";
import codecsUrl from "../pkg/codecs_bg.wasm?url";

/** Text in every language of the book. */
export interface Localized {
  en: string;
  zh: string;
}

// ---- what does not change during a run: meta() ----

export interface LaneMeta {
  /** Node id for a server (1, 2, …); the program's name for a client. */
  name: string;
  kind: "client" | "server";
}

export interface ProgramLine {
  /** The line in the experiment's grammar, without indentation. */
  text: string;
  depth: number;
}

export interface ProgramMeta {
  name: string;
  /** Index into `lanes`. */
  lane: number;
  /** Config keys that the experiment sets for this client, spelt as in Kafka, in the order of the file. */
  config: [key: string, value: string][];
  lines: ProgramLine[];
  /** The same program in Java against kafka-clients. */
  java: string[];
  /** For each of `lines`, the index into `java` of the line that does the same. */
  javaLine: number[];
}

/** One node's absence. Instants that do not occur are null. */
export interface Outage {
  lane: number;
  /** Stopped, while the kernel still accepts bytes; equals `deadUs` if it died at once. */
  dyingUs: number;
  deadUs: number;
  /** The process is started again. */
  startUs: number | null;
  /** It serves again: measured in this run, never set. */
  servingUs: number | null;
}

export type FactValue = number | string | boolean | null;

export interface FactMeta {
  name: string;
  label: Localized;
  kind: "structural" | "timing";
  /** `count` and `ids` have no unit. */
  unit: "count" | "ms" | "text";
  /** Expected value or range as the experiment writes it (`400`, `1..`, `ok - landed`); null if only printed. */
  expected: string | null;
  /** The book's figure. */
  book: FactValue;
  note: Localized | null;
}

export interface Question {
  text: Localized;
  /** What the reader is asked to guess. */
  asks: Ask[];
}

export interface Ask {
  label: Localized;
  /** The name of the fact that answers. */
  fact: string;
}

export interface PartitionMeta {
  topic: string;
  partition: number;
}

export interface Meta {
  name: string;
  /** Of the engine; with `experimentHash` and `seed` it names the run. */
  version: string;
  experimentHash: string;
  seed: string;
  title: Localized;
  summary: Localized;
  lanes: LaneMeta[];
  programs: ProgramMeta[];
  partitions: PartitionMeta[];
  facts: FactMeta[];
  question: Question | null;
  /** Where the page opens, paused. */
  openingUs: number;
  /** The first instant (warm-up, ≤ 0) and the last event of the run. */
  startUs: number;
  endUs: number;
  outages: Outage[];
  /** Instants of the notes that the experiment's `focus` names, ascending. */
  moments: number[];
  /** Strings to which marks point, e.g. `TimeoutException: Topic … not present in metadata after 5000 ms.` */
  strings: string[];
  /** API names by key, e.g. [0, 'Produce'], for the APIs that occur. */
  apis: [key: number, name: string][];
}

// ---- what is drawn each frame: view() ----

export enum FrameKind {
  Request = 0,
  Response = 1,
  /** Connection set-up and end. */
  Syn = 2,
  Fin = 3,
  Rst = 4,
}

/** What becomes of a frame, known ahead of its time: the page shows it from `endUs` on. A frame with `endUs` > now is on its way. */
export enum Outcome {
  /** Still on its way when the run ends. */
  InFlight = 0,
  Delivered = 1,
  /** Its bytes were dropped: on the link, or unread in the socket of a node that died. */
  Lost = 2,
}

export interface Frame {
  /** Names it within the run; argument of `frame()`. */
  id: number;
  conn: number;
  from: number;
  to: number;
  sentUs: number;
  /** When it arrives or is lost, also if that is still to come. */
  endUs: number;
  outcome: Outcome;
  kind: FrameKind;
  /** −1 for Syn, Fin, Rst. */
  apiKey: number;
  apiVersion: number;
  correlation: number;
  /** Bytes, with the length prefix. */
  size: number;
  /** Records of the program that it carries (Produce), else −1. */
  firstRecord: number;
  lastRecord: number;
  /** Folded unless asked for: ApiVersions, metadata refresh, idle fetches, … */
  background: boolean;
}

/** What a mark says; `a` and `b` as told here, −1 where nothing is told. */
export enum MarkKind {
  /** `send()` was called. a: record. */
  SendCalled = 0,
  /** The callback says ok. a: record, b: offset (−1 with acks=0). */
  Ok = 1,
  /** The callback says failed. a: record, b: index into `strings`. */
  Failed = 2,
  /** `send()` blocks: the topic is not in the client's metadata. a: record. */
  WaitingForMetadata = 3,
  /** a: records in the batch, b: its age in ms. */
  BatchExpired = 4,
  /** a: attempt, b: error code. */
  BatchRetried = 5,
  Rebootstrapped = 6,
  Disconnected = 7,
  /** a: node id. */
  ConnectionFailed = 8,
  /** a: number of records, b: first offset. */
  Polled = 9,
  Flushed = 10,
  Closed = 11,
  /** a: first offset, b: last offset. */
  Appended = 20,
  /** a: first offset of the batch that is already there. */
  DuplicateBatch = 21,
  /** a: error code. */
  Refused = 22,
  /** a: offset. */
  HighWatermark = 23,
  /** a: log end, b: bytes cut from a torn tail. */
  LogLoaded = 24,
  /** a: partitions. */
  TopicCreated = 25,
  /** a: leader epoch. */
  BecameLeader = 26,
  Serving = 27,
  ConnectionRefused = 28,
  /** a: producer id. */
  ProducerIdAssigned = 29,
  /** Stopped, its kernel still takes bytes. */
  Dying = 40,
  Killed = 41,
  Started = 42,
  Continued = 43,
  /** The network does something to a frame that this lane sent. a: for so many ms. */
  Held = 50,
  CutBefore = 51,
  CutAfter = 52,
  SentAgain = 53,
}

export interface Mark {
  event: number;
  us: number;
  lane: number;
  kind: MarkKind;
  a: number;
  b: number;
  background: boolean;
}

export interface ProgramState {
  /** Index into the program's `lines`; −1 before the first and after the last. */
  line: number;
  /** Whether the line waits for an answer (send() blocks, flush). */
  blocked: boolean;
}

export interface PartitionState {
  /** Lane of its leader, −1 if there is none. */
  leader: number;
  logStart: number;
  highWatermark: number;
  logEnd: number;
}

export enum RecordState {
  /** send() has been called; nothing is known. */
  Pending = 0,
  /** Told ok; its bytes are still on their way or in a log whose reply is not needed. */
  OkOnTheWay = 1,
  /** In the log; the producer has not been told yet. */
  InLog = 2,
  /** In the log, and the producer was told ok. */
  OkInLog = 3,
  /** Told ok, and its frame was lost: no log will have it. */
  Lost = 4,
  /** Told failed, and in no log. */
  Failed = 5,
  /** Told failed, and yet in the log. */
  FailedButInLog = 6,
}

/** A record that the program sent, in order of sending. */
export interface RecordCell {
  /** Ordinal of the send, from 0: argument of `why()`. */
  record: number;
  partition: number;
  /** −1 while it is in no log. */
  offset: number;
  state: RecordState;
}

export interface View {
  us: number;
  /** Ordinal of the last event that has happened. */
  event: number;
  atEnd: boolean;
  programs: ProgramState[];
  partitions: PartitionState[];
  frames: Frame[];
  marks: Mark[];
  records: RecordCell[];
}

// ---- details ----

export interface Fact {
  name: string;
  /** Its value at this position ("so far"). */
  value: FactValue;
  /** Null for timing facts, and before the run's end. */
  holds: boolean | null;
}

export interface Field {
  name: string;
  value: string;
  /** Byte range in `bytes`. Empty for what takes no bytes. */
  start: number;
  end: number;
  depth: number;
}

export interface Bytes {
  bytes: Uint8Array;
  /** In order of the bytes; a parent stands before its children and its range covers theirs. */
  fields: Field[];
}

/** One link of a "because" chain: the effect first, its causes after it. */
export interface WhyLink {
  event: number;
  us: number;
  lane: number;
  /** What happened there. */
  mark: WhyKind;
  /** As for the mark of the same name; −1 where nothing is told. */
  a: number;
  b: number;
  /** The frame that is meant, −1 if none. */
  frame: number;
}

export type WhyKind =
  /** a: record. `send()` was called. */
  | "send-called"
  /** a: record. The producer was told ok. */
  | "ok"
  /** a: record, b: index into `strings`. */
  | "failed"
  /** The socket's send buffer took the frame: all that acks=0 waits for. */
  | "written"
  /** The frame was sent. */
  | "frame-sent"
  /** The frame was delivered. */
  | "frame-delivered"
  /** The frame reached a dead or dying socket. */
  | "frame-lost"
  /** The frame was lost with its connection. */
  | "frame-cut"
  /** a: first offset. */
  | "appended"
  | "dying"
  | "killed"
  /** The network did something to the frame. a: for so many ms. */
  | "held"
  | "cut"
  | "sent-again"
  | "timeout"
  | "waiting-for-metadata";

/** What the network can be made to do to a frame: as an experiment's file calls it. */
export type FrameAction = "hold" | "cut-before" | "cut-after" | "send-again";

/** One entry of the journal: it leads a run of the same experiment, seed and engine to the same course. */
export interface Act {
  action: FrameAction;
  /** For how long it holds; how long a cut is silent. */
  spanUs: number;
  /** How many events had happened. */
  ordinal: number;
  /** The frame by the event that sent it, and which of its effects did. */
  write: number;
  effect: number;
}

export interface Acted extends Act {
  us: number;
  kind: FrameKind;
  apiKey: number;
  firstRecord: number;
  lastRecord: number;
}

/** One course of the run. */
export interface Branch {
  /** Which one it left, −1 for the first. */
  parent: number;
  /** What the reader did there; null for the first. */
  acted: Acted | null;
  /** The facts at its end. */
  ends: Fact[];
}

export type StepKind = "event" | "frame" | "line" | "moment";

export class Lab {
  readonly #wasm: WasmLab;
  #meta: Meta;

  constructor(wasm: WasmLab) {
    this.#wasm = wasm;
    this.#meta = wasm.meta() as Meta;
  }

  /** Of the course that is shown. */
  get meta(): Meta {
    return this.#meta;
  }

  get us(): number {
    return this.#wasm.us();
  }

  /** Stands after the last event at or before `us`. */
  seek(us: number): void {
    this.#wasm.seek(us);
  }

  /** Stands just after this event. */
  seekEvent(event: number): void {
    this.#wasm.seek_event(event);
  }

  /** To the next or previous event, frame (sent, arrived or lost), program line or moment; background is passed over when folded. */
  step(kind: StepKind, direction: 1 | -1, fold: boolean): void {
    this.#wasm.step(kind, direction, fold);
  }

  /** Distinct instants of the whole run at which something is drawn, ascending. The diagram's scale is made from them. */
  beats(fold: boolean): Float64Array {
    return this.#wasm.beats(fold);
  }

  /** What is there at this position; frames and marks only as far as they touch `fromUs` to now. */
  view(fromUs: number, fold: boolean): View {
    return decodeView(this.#wasm.view(fromUs, fold));
  }

  facts(): Fact[] {
    return this.#wasm.facts() as Fact[];
  }

  frame(id: number): Bytes {
    return this.#wasm.frame(id) as Bytes;
  }

  /** The partition's active segment as it would lie on disk at this position. */
  segment(partition: number): Bytes {
    return this.#wasm.segment(partition) as Bytes;
  }

  /** Why the record's fate is what it is at this position; empty if nothing is known yet. */
  why(record: number): WhyLink[] {
    return this.#wasm.why(record) as WhyLink[];
  }

  // ---- what the reader does ----

  /**
   * Does something to a frame: here if it is on its way, else just after it was sent. The run goes on from there on a course of its
   * own. Returns the frame's id there, −1 if it could not be done.
   */
  act(frame: number, action: FrameAction, spanUs: number): number {
    return this.#after(this.#wasm.act(frame, action, spanUs));
  }

  /** Does again what a journal tells; −1 if this run is not the one that is meant. */
  actAgain({ ordinal, write, effect, action, spanUs }: Act): number {
    return this.#after(this.#wasm.act_at(ordinal, write, effect, action, spanUs));
  }

  /** The course that is shown, as an index into `branches()`. */
  get branch(): number {
    return this.#wasm.branch();
  }

  switchTo(branch: number): void {
    this.#wasm.switch(branch);
    this.#after(branch);
  }

  branches(): Branch[] {
    return this.#wasm.branches() as Branch[];
  }

  /** Everything that led to the course that is shown. */
  journal(): Act[] {
    const branches = this.branches();
    const acts: Act[] = [];
    for (let at = this.branch; at > 0; at = branches[at]?.parent ?? 0) {
      const acted = branches[at]?.acted;
      if (acted) acts.unshift(acted);
    }
    return acts;
  }

  #after(result: number): number {
    this.#meta = this.#wasm.meta() as Meta;
    return result;
  }

  /** The trace hash over the events up to this position, as `steplog run --json` prints it at the end. */
  hash(): string {
    return this.#wasm.hash();
  }

  free(): void {
    this.#wasm.free();
  }
}

let ready: Promise<unknown> | undefined;
let codecs: Promise<void> | undefined;

/** The second wasm: only what names a codec waits for it, and no world calls it before it is there. */
async function loadCodecs(): Promise<void> {
  const { default: initCodecs, compress, decompress } = await import("../pkg/codecs.js");
  await initCodecs({ module_or_path: codecsUrl });
  set_codecs(compress, decompress);
}

/** Loads the wasm once per page. Rejects with a sentence for the reader if the bytes are not an experiment of this version. */
export async function loadLab(experiment: Uint8Array, seed?: bigint): Promise<Lab> {
  ready ??= init({ module_or_path: wasmUrl });
  await ready;
  if (names_codec(experiment)) await (codecs ??= loadCodecs());
  return new Lab(new WasmLab(experiment, seed));
}

/**
 * The layout of `view()`, written by crate/src/view/. Everything is a number:
 *
 *   us, event, atEnd (0 or 1),
 *   n, then n × (line, blocked)                                             programs, as in meta
 *   n, then n × (leader, logStart, highWatermark, logEnd)                   partitions, as in meta
 *   n, then n × (id, conn, from, to, sentUs, endUs, outcome, kind, apiKey, apiVersion, correlation, size,
 *                firstRecord, lastRecord, background)                       frames, by sentUs
 *   n, then n × (event, us, lane, kind, a, b, background)                   marks, by us
 *   n, then n × (record, partition, offset, state)                          records, by record
 */
export function decodeView(words: Float64Array): View {
  let at = 0;
  const next = (): number => words[at++] ?? 0;
  const rows = <Row>(row: () => Row): Row[] => Array.from({ length: next() }, row);
  return {
    us: next(),
    event: next(),
    atEnd: next() === 1,
    programs: rows(() => ({ line: next(), blocked: next() === 1 })),
    partitions: rows(() => ({ leader: next(), logStart: next(), highWatermark: next(), logEnd: next() })),
    frames: rows(() => ({
      id: next(),
      conn: next(),
      from: next(),
      to: next(),
      sentUs: next(),
      endUs: next(),
      outcome: next(),
      kind: next(),
      apiKey: next(),
      apiVersion: next(),
      correlation: next(),
      size: next(),
      firstRecord: next(),
      lastRecord: next(),
      background: next() === 1,
    })),
    marks: rows(() => ({
      event: next(),
      us: next(),
      lane: next(),
      kind: next(),
      a: next(),
      b: next(),
      background: next() === 1,
    })),
    records: rows(() => ({ record: next(), partition: next(), offset: next(), state: next() })),
  };
}
