// From typed notes to sentences in the reader's language: the only place where frames, marks and "why" links become text.

import {
  FrameKind,
  MarkKind,
  Outcome,
  RecordState,
  type Acted,
  type Frame,
  type Mark,
  type Meta,
  type WhyLink,
} from "./engine.js";
import { clock, seconds, signed, span } from "./format.js";
import type { Messages } from "./messages/index.js";

export function laneName(meta: Meta, lane: number, text: Messages): string {
  const node = meta.lanes[lane];
  if (!node) return "?";
  return node.kind === "server" ? text.node(node.name) : node.name;
}

export function apiName(meta: Meta, key: number): string {
  return meta.apis.find(([known]) => known === key)?.[1] ?? `API ${key}`;
}

/** What a frame is called by. */
type Named = Pick<Frame, "kind" | "apiKey" | "firstRecord" | "lastRecord">;

/** What stands on the arrow: `Produce #149`. */
export function frameLabel(meta: Meta, frame: Named, text: Messages): string {
  switch (frame.kind) {
    case FrameKind.Syn:
      return text.syn;
    case FrameKind.Fin:
      return text.fin;
    case FrameKind.Rst:
      return text.rst;
    case FrameKind.Response:
      return text.response(apiName(meta, frame.apiKey));
    case FrameKind.Request: {
      const records = frame.firstRecord < 0 ? "" : text.records(String(frame.firstRecord), String(frame.lastRecord));
      return text.request(apiName(meta, frame.apiKey), records);
    }
  }
}

/** What the reader did: `Produce #149 held for 1.00 s`. */
export function actedText(meta: Meta, acted: Acted, text: Messages): string {
  return text.acted[acted.action](frameLabel(meta, acted, text), span(acted.spanUs));
}

export function frameSentence(meta: Meta, frame: Frame, us: number, text: Messages): string {
  const [from, to] = [laneName(meta, frame.from, text), laneName(meta, frame.to, text)];
  return `${text.frameSentence(frameLabel(meta, frame, text), from, to, clock(frame.sentUs))}, ${frameFate(frame, us, text)}`;
}

export function frameFate(frame: Frame, us: number, text: Messages): string {
  if (frame.endUs > us || frame.outcome === Outcome.InFlight) return text.frameOnItsWay;
  return frame.outcome === Outcome.Lost ? text.frameLost(clock(frame.endUs)) : text.frameDelivered(clock(frame.endUs));
}

/** A mark in a few words; `previous` is the mark on the same line before it, whose record need not be named again. */
export function markLabel(mark: Mark, text: Messages, previous?: Mark): string {
  const { a, b } = mark;
  const say = text.mark;
  switch (mark.kind) {
    case MarkKind.SendCalled:
      return say.sendCalled(a);
    case MarkKind.Ok:
      return previous?.kind === MarkKind.SendCalled && previous.a === a ? say.okOnly(signed(b)) : say.ok(a, signed(b));
    case MarkKind.Failed:
      return say.failed(a);
    case MarkKind.WaitingForMetadata:
      // Without a record it is the client's own first look, before it sends.
      return a < 0 || (previous?.kind === MarkKind.SendCalled && previous.a === a)
        ? say.waitsOnly
        : say.waitingForMetadata(a);
    case MarkKind.BatchExpired:
      return say.batchExpired(a, b);
    case MarkKind.BatchRetried:
      return say.batchRetried(a);
    case MarkKind.Rebootstrapped:
      return say.rebootstrapped;
    case MarkKind.Disconnected:
      return say.disconnected;
    case MarkKind.ConnectionFailed:
      return say.connectionFailed(a);
    case MarkKind.Polled:
      return say.polled(a);
    case MarkKind.Flushed:
      return say.flushed;
    case MarkKind.Closed:
      return say.closed;
    case MarkKind.Appended:
      return say.appended(a, b);
    case MarkKind.DuplicateBatch:
      return say.duplicateBatch(a);
    case MarkKind.Refused:
      return say.refused(a);
    case MarkKind.HighWatermark:
      return say.highWatermark(a);
    case MarkKind.LogLoaded:
      return b > 0 ? say.logTorn(a, b) : say.logLoaded(a);
    case MarkKind.TopicCreated:
      return say.topicCreated;
    case MarkKind.BecameLeader:
      return say.becameLeader(a);
    case MarkKind.Serving:
      return say.serving;
    case MarkKind.ConnectionRefused:
      return say.connectionRefused;
    case MarkKind.ProducerIdAssigned:
      return say.producerIdAssigned(a);
    case MarkKind.Dying:
      return say.dying;
    case MarkKind.Killed:
      return say.killed;
    case MarkKind.Started:
      return say.started;
    case MarkKind.Continued:
      return say.continued;
    case MarkKind.Held:
      return say.held(span(a * 1e3));
    case MarkKind.CutBefore:
      return say.cutBefore;
    case MarkKind.CutAfter:
      return say.cutAfter;
    case MarkKind.SentAgain:
      return say.sentAgain;
  }
}

/** With instant, node, and the exception's own text: for titles and for the live region. */
export function markSentence(meta: Meta, mark: Mark, text: Messages): string {
  const exception = mark.kind === MarkKind.Failed ? (meta.strings[mark.b] ?? "") : "";
  const sentence = `${seconds(mark.us)}, ${laneName(meta, mark.lane, text)}: ${markLabel(mark, text)}`;
  return exception ? `${sentence}. ${exception}` : sentence;
}

export function whyText(meta: Meta, link: WhyLink, text: Messages): string {
  const sentence = text.whyLink[link.mark](laneName(meta, link.lane, text), link.a, link.b);
  const exception = link.mark === "failed" ? meta.strings[link.b] : undefined;
  return exception ? `${sentence}: ${exception}` : sentence;
}

export function recordStateText(state: RecordState, text: Messages): string {
  switch (state) {
    case RecordState.Pending:
      return text.states.pending;
    case RecordState.OkOnTheWay:
      return text.states.okOnTheWay;
    case RecordState.InLog:
      return text.states.inLog;
    case RecordState.OkInLog:
      return text.states.okInLog;
    case RecordState.Lost:
      return text.states.lost;
    case RecordState.Failed:
      return text.states.failed;
    case RecordState.FailedButInLog:
      return text.states.failedButInLog;
  }
}
