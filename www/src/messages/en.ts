// Every sentence of the page in English. The shape of this table is the shape of every other language's table.
//
// Why no localisation library: @lit/localize keeps one language per page, and a chapter may hold an English and a Chinese lab side
// by side; here the language is a property of each element and tsc finds what a translation lacks.

const plural = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

export const en = {
  // the lab
  labLabel: (title: string): string => `Experiment: ${title}`,
  loading: "Loading the experiment…",
  failed: "The experiment could not be loaded.",
  node: (name: string): string => `broker ${name}`,
  facts: "Facts",
  keys: "Keys",
  keysHelp: [
    ["Space", "play or pause"],
    ["← →", "one step back or forward"],
    ["E F L M", "step by event, frame, program line, moment"],
    ["Home End", "beginning, end"],
    ["+ −", "faster, slower"],
    ["B", "show or fold background traffic"],
    ["↑ ↓", "in the diagram: previous, next frame; in fields, bytes and cells: move"],
  ] as [string, string][],

  run: (seed: string, hash: string): string => `seed ${seed} · trace ${hash}`,
  traceHint: "The hash of every byte and note up to here: equal in page and terminal for the same experiment and seed",

  // controls
  controls: "Controls",
  play: "Play",
  pause: "Pause",
  toStart: "To the beginning",
  toEnd: "To the end",
  stepBack: (by: string): string => `Back one ${by}`,
  stepForward: (by: string): string => `Forward one ${by}`,
  stepBy: "Step by",
  step: { event: "event", frame: "frame", line: "line", moment: "moment" },
  pace: "Pace",
  paces: {
    even: "even",
    "even-slow": "even, slow",
    "even-fast": "even, fast",
    "clock-hundredth": "clock × 1/100",
    "clock-tenth": "clock × 1/10",
    clock: "clock × 1",
    "clock-ten": "clock × 10",
  } as Record<string, string>,
  background: "background",
  backgroundHint: "Show background traffic: ApiVersions, metadata refresh, idle fetches, attempts to connect",
  position: "Position in the run",
  positionOf: (now: string, end: string): string => `${now} of ${end}`,
  outage: (node: string, from: string, to: string): string => `${node} is away from ${from} to ${to}`,
  outageOpen: (node: string, from: string): string => `${node} is away from ${from} on`,
  scrubDying: "stops",
  scrubStart: "started",
  scrubServing: "serves",

  // program
  program: (name: string): string => `${name}, the program`,
  programTab: "program",
  javaTab: "Java",
  settings: "settings",
  currentLine: "now here",
  waiting: "waiting",
  programBefore: "not begun",
  programAfter: "ended",

  // diagram
  diagram: "Space and time",
  diagramHelp: "Time runs down, one lane per node. Up and down arrow keys choose a frame.",
  quiet: (span: string): string => `${span} of quiet`,
  now: "now",
  stopped: "stopped",
  dead: "dead",
  starting: "starting",
  away: "away",

  // frames
  request: (api: string, records: string): string => (records ? `${api} ${records}` : api),
  response: (api: string): string => `${api} reply`,
  records: (first: string, last: string): string => (first === last ? `#${first}` : `#${first}–${last}`),
  syn: "connect",
  fin: "close (FIN)",
  rst: "reset (RST)",
  frameSentence: (what: string, from: string, to: string, sent: string): string =>
    `${what}, ${from} to ${to}, sent at ${sent}`,
  frameOnItsWay: "on its way",
  frameDelivered: (at: string): string => `arrived at ${at}`,
  frameLost: (at: string): string => `lost at ${at}`,

  // marks: what a node lets its readers know
  mark: {
    sendCalled: (record: number): string => `send #${record}`,
    ok: (record: number, offset: string): string => `#${record} ok, offset ${offset}`,
    okOnly: (offset: string): string => `ok, offset ${offset}`,
    failed: (record: number): string => `#${record} failed`,
    waitingForMetadata: (record: number): string => `#${record} waits for metadata`,
    waitsOnly: "waits for metadata",
    batchExpired: (records: number, ms: number): string => `batch of ${records} expired after ${ms} ms`,
    batchRetried: (attempt: number): string => `batch goes again, attempt ${attempt}`,
    rebootstrapped: "forgets metadata",
    disconnected: "disconnected",
    connectionFailed: (node: number): string => (node < 0 ? "cannot connect" : `cannot connect to ${node}`),
    polled: (records: number): string => plural(records, "record polled", "records polled"),
    flushed: "flush returns",
    closed: "closed",
    appended: (first: number, last: number): string =>
      first === last ? `offset ${first} written` : `offsets ${first}–${last} written`,
    duplicateBatch: (first: number): string => `already has offset ${first}`,
    refused: (code: number): string => `refused, error ${code}`,
    highWatermark: (offset: number): string => `HW ${offset}`,
    logLoaded: (end: number): string => `log opened, end ${end}`,
    logTorn: (end: number, bytes: number): string => `log opened, end ${end}, torn tail of ${bytes} bytes cut`,
    topicCreated: "topic created",
    becameLeader: (epoch: number): string => `leader, epoch ${epoch}`,
    serving: "serves",
    connectionRefused: "closes the connection",
    producerIdAssigned: (id: number): string => `producer id ${id} given`,
    dying: "stops reading",
    killed: "killed",
    started: "started again",
    continued: "goes on",
    held: (span: string): string => `frame held for ${span}`,
    cutBefore: "cut before this frame",
    cutAfter: "cut after this frame",
    sentAgain: "frame sent again",
  },

  // log
  log: (topic: string, partition: number): string => `${topic}-${partition}`,
  logFile: "file",
  logFileHint: "Show the log's segment file, byte by byte",
  noLeader: "no leader",
  start: "start",
  highWatermark: "HW",
  end: "end",
  cells: "Records in the order of the log",
  cellsEarlier: (n: number): string => plural(n, "earlier record", "earlier records"),
  cell: (record: number, state: string): string => `Record ${record}: ${state}`,
  cellAt: (record: number, offset: number, state: string): string => `Record ${record}, offset ${offset}: ${state}`,
  states: {
    pending: "send() called",
    okOnTheWay: "told ok, on its way",
    inLog: "in the log",
    okInLog: "in the log, told ok",
    lost: "told ok, in no log",
    failed: "told failed",
    failedButInLog: "told failed, yet in the log",
  },

  // facts
  fact: "fact",
  soFar: "so far",
  here: "here",
  book: "book",
  bookHidden: "guess first",
  holds: "holds",
  broken: "does not hold",
  timing: "varies from run to run",
  structural: "holds in every run",
  expected: (value: string): string => `expected: ${value}`,
  yes: "yes",
  no: "no",
  laws: "What holds in every run",
  notYet: "known at the end",
  nothingYet: "–",

  // question
  ask: "Before you run it",
  guessOf: (fact: string): string => `Your guess: ${fact}`,
  runToEnd: "Run to the end",
  yours: "your guess",
  allRight: "All as you guessed.",
  notAsGuessed: "Not as you guessed: the red cells in the log say where.",
  seeWhy: (record: number): string => `Why record ${record}?`,

  // why
  why: "Why",
  whyHelp: "Choose a record in the log to ask why.",
  whyTitle: {
    lost: (record: number): string => `Record ${record} was reported ok and is in no log`,
    failed: (record: number): string => `Record ${record} was reported failed`,
    failedButInLog: (record: number): string => `Record ${record} was reported failed and is in the log`,
    fine: (record: number): string => `Record ${record}`,
  },
  andYet: "and yet",
  because: "because",
  whyLink: {
    "send-called": (node: string, record: number): string => `${node} called send() for record ${record}`,
    ok: (node: string, record: number): string => `${node} was told ok for record ${record}`,
    failed: (node: string, record: number): string => `${node} was told that record ${record} failed`,
    written: (node: string): string => `the send buffer of ${node}’s socket took the bytes`,
    "frame-sent": (node: string): string => `${node} sent the frame`,
    "frame-delivered": (node: string): string => `the frame arrived at ${node}`,
    "frame-lost": (node: string): string => `the frame died unread in ${node}’s socket`,
    "frame-cut": (node: string): string => `the frame to ${node} was lost with its connection`,
    held: (_node: string, ms: number): string => `the network held the frame for ${ms} ms`,
    cut: (): string => "the network cut the connection",
    "sent-again": (): string => "the network sent the frame again",
    appended: (node: string, _record: number, offset: number): string => `${node} wrote it at offset ${offset}`,
    dying: (node: string): string => `${node} stopped reading, while its kernel went on taking bytes`,
    killed: (node: string): string => `${node} was killed`,
    timeout: (node: string): string => `a timeout of ${node} ran out`,
    "waiting-for-metadata": (node: string): string => `${node} had no metadata for the topic and waited`,
  },

  // inspector
  inspector: "Frame",
  inspectorHelp: "Choose an arrow in the diagram to see its fields and bytes.",
  onFrame: "On this frame",
  onFrameHint: "The run goes on from this frame on a course of its own; what you have seen stays.",
  holdFor: "Hold for",
  frameActions: {
    hold: ["Hold", "It arrives later, and what follows it in its direction waits behind it"],
    "cut-before": ["Cut before", "It and all that follows is lost, and both ends see the connection close"],
    "cut-after": ["Cut after", "It arrives; what follows is lost, its answer too, and the connection closes"],
    "send-again": ["Send again", "It arrives twice; the second answer is kept from its sender"],
  } as Record<"hold" | "cut-before" | "cut-after" | "send-again", [name: string, does: string]>,

  // courses of a run
  courses: "Courses of this run",
  asItWas: "as it was",
  afterCourse: (number: number): string => `after course ${number}`,
  acted: {
    hold: (frame: string, span: string): string => `${frame} held for ${span}`,
    "cut-before": (frame: string): string => `cut before ${frame}`,
    "cut-after": (frame: string): string => `cut after ${frame}`,
    "send-again": (frame: string): string => `${frame} sent again`,
  },
  coursesSame: "Every fact ends alike.",
  coursesCovered: "How each of them ends is told once you have run to the end.",
  linkStale: "This link was made for another version of the experiment or of the engine. Here is the run as it is now.",
  segmentTitle: (name: string): string => `Segment file of ${name}`,
  fields: "Fields",
  bytes: "Bytes",
  byteCount: (n: number): string => plural(n, "byte", "bytes"),
  byteRange: (start: number, end: number): string =>
    end - start === 1 ? `byte ${start}` : `bytes ${start}–${end - 1}`,
  moreBytes: (n: number): string => `Show ${n} more`,
  close: "Close",

  // index
  experiments: "Experiments",

  // facts in prose
  factFailed: "?",
};

export type Messages = typeof en;
