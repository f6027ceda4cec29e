import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { loadCatalogue } from '../../../datasets/load.ts';
import { makeGguf } from '../../../engine/gguf/make/make-gguf.ts';
import type { CatalogueModel } from '../../../engine/gguf/parse-models.ts';
import type { RandomStream } from '../../../engine/input/random-stream.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { Shape } from '../../../engine/model/architecture.ts';
import type { LayerKind } from '../../../engine/model/layer-kind.ts';
import { type LoadedPart, loadPart } from '../../../engine/ring/device/loaded-part.ts';
import { createWorkerSession, type WorkerSession } from '../../../engine/ring/device/session.ts';
import {
  decodeFrame,
  type ExpertChoice,
  encodeFrame,
  type Frame,
  type FrameSegment,
  type PageCopy,
} from '../../../engine/ring/wire/frame.ts';
import { HEAD_MESSAGE, readMessage, WORKER_MESSAGE } from '../../../engine/ring/wire/parse-message.ts';
import type { Transport } from '../../../engine/ring/wire/transport.ts';
import { concat, mutateBytes } from '../mutate-bytes.ts';
import { type Json, mutateJson } from '../mutate-json.ts';
import type { FuzzTarget } from '../target.ts';

/** Model of the worker: two small layers with four experts each, so that a window takes some microseconds. */
const SHAPE = smallMixture();
/** Model of a worker with cut tensors: two small layers without. */
const DENSE = smallDense();
const CHUNK = 8;
/** Eight pages: two requests of 32 tokens. */
const PAGE_TOKENS = 8;
const MEMORY = 2 ** 26;
const HEAD_LINK = 'ab'.repeat(16);

/**
 * Messages of peers. An input is a conversation: frames, each after its length (4 bytes, little endian). Each goes through
 * the decoder; messages are read as those of a head and of a worker; a session of a worker with a real model then
 * answers what a head may send, and computes.
 */
export async function open(): Promise<FuzzTarget> {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-fuzz-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'model.gguf');
  await makeGguf({ shape: SHAPE, mix: 'Q8_0', seed: 1, path });
  const loaded = loadPart(path, openKernels({ threads: 1 }), CHUNK);
  const densePath = join(folder, 'dense.gguf');
  await makeGguf({ shape: DENSE, mix: 'Q8_0', seed: 2, path: densePath });
  const dense = loadPart(densePath, openKernels({ threads: 1 }), CHUNK);
  return { input: conversation, read: (input) => converse(input, isCut(input) ? dense : loaded) };
}

/** Whether a conversation begins with an assignment of cut tensors. */
function isCut(input: Uint8Array): boolean {
  const [first] = decodeConversation(input);
  return first !== undefined && Buffer.from(first).includes('"cut"');
}

function smallDense(): Shape {
  const { shape } = loadCatalogue().find((one) => one.shape.name === 'Llama-3.2-1B') as CatalogueModel;
  const kinds = shape.kinds.slice(0, 2).map((kind): LayerKind => {
    const { mixer, feedForward } = kind;
    if (mixer?.kind !== 'attention' || feedForward?.kind !== 'dense') throw new RangeError('another family');
    return {
      ...kind,
      mixer: { ...mixer, heads: 4, kvHeads: 2, headSize: 64 },
      feedForward: { ...feedForward, size: 256 },
    };
  });
  return { ...shape, name: 'dense', layers: 2, kinds, hiddenSize: 256, vocabularySize: 260 };
}

function smallMixture(): Shape {
  const { shape } = loadCatalogue().find((one) => one.shape.name === 'Qwen3-30B-A3B') as CatalogueModel;
  const kinds = shape.kinds.slice(0, 2).map((kind): LayerKind => {
    const { mixer, feedForward } = kind;
    if (mixer?.kind !== 'attention' || feedForward?.kind !== 'experts') throw new RangeError('another mixture');
    const router = { ...feedForward.router, experts: 4, used: 2 };
    return {
      ...kind,
      mixer: { ...mixer, heads: 2, kvHeads: 1, headSize: 128 },
      feedForward: { ...feedForward, size: 256, router },
    };
  });
  return { ...shape, name: 'small', layers: 2, kinds, hiddenSize: 256, vocabularySize: 260 };
}

const ASSIGNMENT: Json = {
  epoch: 7,
  windowCount: 2,
  windows: [
    { index: 0, from: 0, to: 1, onGpu: [], next: { kind: 'head' } },
    { index: 1, from: 1, to: 2, onGpu: [], next: { kind: 'device', name: 'b' } },
  ],
  successors: [],
  predecessors: [{ name: 'b', publicKey: 'f'.repeat(64), linkName: '1'.repeat(32) }],
  sources: [
    { window: 0, from: '' },
    { window: 1, from: '' },
  ],
  context: 32,
  requests: 2,
  pageTokens: PAGE_TOKENS,
  kvCache: 'F16',
  activations: 'F32',
  chunk: CHUNK,
  weights: { prefetch: 'none', release: 'none' },
  trace: true,
};
const SUCCESSOR = { name: 'b', address: 'tcp://10.0.0.2:7401', publicKey: 'f'.repeat(64), linkName: '2'.repeat(32) };

const NONE = { prefetch: 'none', release: 'none' };
const EXPERTS: Json = {
  ...{ slots: 4, pool: 'all', eviction: 'lru', method: 'direct', layout: 'file', depth: 2, hitsFirst: true },
  lookahead: { kind: 'next-router', ranks: 1 },
};

const CACHED: Json = { ...(ASSIGNMENT as object), weights: { ...NONE, experts: EXPERTS } };

/** The share of a device that holds experts of both layers, and has no layer of its own. */
const HOLDING: Json = {
  ...(ASSIGNMENT as object),
  ...{ windows: [], predecessors: [], sources: [], windowCount: 1, weights: NONE },
  held: [
    [0, 1, 3],
    [1, 2],
  ],
};

/** The share of a device with a slice of both layers, whose sums go to the head and come back. */
const CUTTING: Json = {
  ...(ASSIGNMENT as object),
  ...{ windows: [{ index: 0, from: 0, to: 2, onGpu: [], next: { kind: 'head' } }], windowCount: 1 },
  ...{ predecessors: [], sources: [{ window: 0, from: '' }], weights: NONE },
  cut: {
    allReduce: 'star',
    members: [
      { device: '', share: 0.5 },
      { device: 'b', share: 0.5 },
    ],
    own: 1,
  },
};

/** A share with a layer on the GPU, copied there for every pass, whose keys and values are in RAM, and one cut for an NPU. */
const OPERATOR = { npuRows: 8, npuLengths: [1] };
const LAYER_CUTS = { qkv: OPERATOR, 'attention-output': OPERATOR, 'gate-up': OPERATOR, down: OPERATOR };
const DIVIDED: Json = {
  ...(ASSIGNMENT as object),
  windows: [
    { index: 0, from: 0, to: 1, onGpu: [0], next: { kind: 'head' } },
    { index: 1, from: 1, to: 2, onGpu: [], onNpu: [1], next: { kind: 'device', name: 'b' } },
  ],
  keysInRam: true,
  streamed: { way: 'ahead', layers: [0], output: false },
  partition: {
    ...{ synchronisation: 'naive', graphs: 'prepared', promptTokens: 4, prefill: LAYER_CUTS },
    decode: { ...LAYER_CUTS, output: OPERATOR },
  },
};

const HEAD_MESSAGES: readonly Json[] = [
  { kind: 'prepare', assignment: ASSIGNMENT },
  { kind: 'prepare', assignment: { ...(ASSIGNMENT as object), successors: [SUCCESSOR] } },
  {
    kind: 'prepare',
    assignment: { ...(ASSIGNMENT as object), weights: { prefetch: 'fit', release: 'pinned', pinned: 'fit' } },
  },
  { kind: 'prepare', assignment: CACHED },
  { kind: 'prepare', assignment: HOLDING },
  { kind: 'prepare', assignment: CUTTING },
  { kind: 'prepare', assignment: DIVIDED },
  { kind: 'experts', epoch: 7 },
  { kind: 'hello', head: 'h', device: 'd', model: 'e'.repeat(64), ring: '3'.repeat(32) },
  { kind: 'link', epoch: 7 },
  { kind: 'measure', epoch: 7, bytes: 1000 },
  { kind: 'clock', sentAt: 1.5 },
  { kind: 'report' },
  { kind: 'memory' },
  { kind: 'profile', fresh: false },
  { kind: 'bye' },
];
const WORKER_MESSAGES: readonly Json[] = [
  { kind: 'welcome', ringPort: 7401, memory: 1e9, layers: [0, 1], digests: [['0', 'ab'.repeat(16)]] },
  { kind: 'refused', reason: 'busy' },
  {
    kind: 'prepared',
    epoch: 7,
    weights: { policy: { prefetch: 'willneed', release: 'pinned', pinned: 5 }, bytes: 10 },
  },
  { kind: 'prepared', epoch: 7, weights: { policy: { ...NONE, experts: EXPERTS }, bytes: 10 } },
  { kind: 'experts', epoch: 7, reads: { needs: 9, reads: 4, ahead: 1, wrong: 0, bytes: 1e6, waited: 0.1 } },
  { kind: 'linked', epoch: 7 },
  { kind: 'failed', epoch: 7, reason: 'no memory' },
  { kind: 'lost', epoch: 7, device: 'b', reason: 'gone' },
  { kind: 'invalid', epoch: 7, device: 'b', reason: 'a page twice' },
  { kind: 'measured', epoch: 7, links: [{ to: 'b', latency: 1e-4, bandwidth: 1e8 }] },
  { kind: 'clock', sentAt: 1.5, at: 2.5 },
  { kind: 'profiled', facts: '{"name":"d"}' },
  { kind: 'memory', limit: 1e9, planned: 1e8, measured: 1e8 },
  { kind: 'spans', spans: [{ kind: 'compute', from: 0, to: 1, tokens: 1, request: 1, start: 1, end: 2 }] },
  { kind: 'spans', spans: [{ kind: 'sample', name: 'x', time: 1, value: 2 }] },
];

const PREPARE = encodeMessage(HEAD_MESSAGES[0] as Json);
const CACHING = encodeMessage({ kind: 'prepare', assignment: CACHED });
const HOLDS = encodeMessage({ kind: 'prepare', assignment: HOLDING });
const CUTS = encodeMessage({ kind: 'prepare', assignment: CUTTING });

function encodeMessage(message: Json): Uint8Array {
  return encodeFrame({ kind: 'message', payload: new TextEncoder().encode(JSON.stringify(message)) });
}

/** One to four frames, half of them mutated, after a valid assignment in most conversations. */
function conversation(random: RandomStream): Uint8Array {
  const prepare = random.pick([PREPARE, CACHING, HOLDS, CUTS]);
  const carried = prepare === HOLDS ? expertRequest : activations;
  const frames = Array.from({ length: random.integer(1, 4) }, () =>
    randomFrame(prepare === CUTS && random.integer(0, 2) > 0 ? sums : carried, random),
  );
  return encodeConversation(random.integer(0, 3) === 0 ? frames : [prepare, ...frames]);
}

export function encodeConversation(frames: readonly Uint8Array[]): Uint8Array {
  return concat(
    frames.flatMap((frame) => {
      const length = new Uint8Array(4);
      new DataView(length.buffer).setUint32(0, frame.length, true);
      return [length, frame];
    }),
  );
}

/** The frames of a conversation; a length that is too large stands for the rest. */
function decodeConversation(input: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at + 4 <= input.length; ) {
    const length = new DataView(input.buffer, input.byteOffset + at).getUint32(0, true);
    // A copy, as the transport gives one: payloads are then aligned as in the program.
    frames.push(input.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return frames;
}

function randomFrame(carried: (random: RandomStream) => Uint8Array, random: RandomStream): Uint8Array {
  let frame = random.integer(0, 1) === 0 ? carried(random) : randomMessage(random);
  if (random.integer(0, 3) > 0) return frame;
  for (let times = random.integer(1, 3); times > 0; times--) frame = mutateBytes(frame, PREPARE, random);
  return frame;
}

function randomMessage(random: RandomStream): Uint8Array {
  let message = random.pick(random.integer(0, 3) === 0 ? WORKER_MESSAGES : HEAD_MESSAGES);
  const other = random.pick(HEAD_MESSAGES);
  for (let times = random.pick([0, 0, 1, 1, 2]); times > 0; times--) message = mutateJson(message, other, random);
  try {
    return encodeMessage(message);
  } catch {
    return PREPARE; // nested deeper than JSON.stringify goes
  }
}

function activations(random: RandomStream): Uint8Array {
  const tokens = random.pick([1, 1, 1, 2, 2, CHUNK, CHUNK + 1, 2 ** 31]);
  const more = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, () => random.integer(1, 2));
  const values = Math.min(tokens, CHUNK + 1) + more.reduce((sum, own) => sum + own, 0);
  const segment = (own: number): FrameSegment => {
    const position = random.pick([0, 0, 0, 1, 2, 8, 31, 2 ** 31 - 8]);
    const pages = Math.min(4, Math.ceil((position + own) / PAGE_TOKENS)) + random.pick([0, 0, 0, 0, -1, 1]);
    const first = random.pick([0, 0, 0, 1, 4, 7, 8, 2 ** 32 - 6]);
    return {
      request: random.pick([1, 1, 2, 3, 2 ** 32 - 1]),
      position,
      tokens: own,
      rows: random.integer(0, 2),
      pages: Array.from({ length: pages }, (_, page) => first + (random.integer(0, 9) === 0 ? 0 : page)),
      multiplied: random.pick([undefined, 'singly', 'together'] as const),
    };
  };
  const copies = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, (): PageCopy => {
    const from = random.pick([0, 0, 0, 0, 1, 4, 7, 8, 2 ** 32 - 1]);
    const to = random.pick([1, 1, 1, 1, 0, 4, 7, 8, 2 ** 32 - 1]);
    return { from, to, tokens: random.pick([1, 1, 1, 1, 0, 2, 8, 9, 2 ** 32 - 1]) };
  });
  const frame: Frame = {
    kind: 'activations',
    epoch: random.pick([7, 7, 7, 7, 8]),
    number: random.pick([0, 0, 0, 1, 1, 2, 2 ** 32 - 1]),
    window: random.pick([0, 0, 0, 1, 1, 2, 2 ** 32 - 1]),
    segments: [segment(tokens), ...more.map((own) => segment(own))],
    copies,
    isFollowed: random.pick([false, true]),
    format: random.pick(['F32', 'F32', 'F32', 'F16']),
    sentAt: random.pick([0, 1e9, 1e9, 1e9, Number.NaN]),
    payload: new Uint8Array(values * SHAPE.hiddenSize * random.pick([4, 4, 4, 2])).fill(random.integer(0, 255)),
  };
  return encodeFrame(frame);
}

/** Sums of a half of a layer, of which the first are those that a pass of one token waits for. */
function sums(random: RandomStream): Uint8Array {
  const number = random.pick([0, 0, 0, 1, 1, 2, 3, 2 ** 32 - 1]);
  const rows = random.pick([1, 1, 1, 2, CHUNK, CHUNK + 1, 2 ** 16]);
  return encodeFrame({
    kind: 'sums',
    epoch: random.pick([7, 7, 7, 7, 8]),
    number,
    layer: random.pick([Math.floor((number % 3) / 2), Math.floor((number % 3) / 2), 0, 1, 2 ** 32 - 1]),
    rows,
    format: random.pick(['F32', 'F32', 'F32', 'F16']),
    sentAt: random.pick([0, 1e9, 1e9, 1e9, Number.NaN]),
    payload: new Uint8Array(Math.min(rows, CHUNK + 1) * DENSE.hiddenSize * random.pick([4, 4, 4, 2])).fill(
      random.integer(0, 255),
    ),
  });
}

/** A request to multiply experts, or the sums that answer one. */
function expertRequest(random: RandomStream): Uint8Array {
  const rows = Array.from({ length: random.pick([1, 1, 1, 2, CHUNK, CHUNK + 1]) }, (): ExpertChoice[] =>
    Array.from({ length: random.pick([1, 1, 1, 2, 2, 3]) }, (_, choice) => ({
      expert: random.integer(0, 7) > 0 ? choice + 1 : random.pick([0, 1, 3, 4, 2 ** 32 - 1]),
      weight: random.integer(0, 15) > 0 ? 0.5 : random.pick([0, -1, 1e30, Number.NaN]),
    })),
  );
  const fields = {
    epoch: random.pick([7, 7, 7, 7, 8]),
    number: random.pick([0, 0, 0, 0, 0, 1, 1, 2, 2 ** 32 - 1]),
    layer: random.pick([0, 0, 1, 1, 2, 2 ** 32 - 1]),
    format: random.pick(['F32', 'F32', 'F32', 'F16'] as const),
    sentAt: random.pick([0, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, Number.NaN]),
    payload: new Uint8Array(rows.length * SHAPE.hiddenSize * random.pick([4, 4, 4, 2])).fill(random.integer(0, 255)),
  };
  if (random.integer(0, 7) > 0) return encodeFrame({ kind: 'experts', ...fields, rows });
  return encodeFrame({ kind: 'sums', ...fields, rows: random.pick([1, 2, 0, 2 ** 32 - 1]) });
}

async function converse(input: Uint8Array, loaded: LoadedPart): Promise<string> {
  let answers = 0;
  const session = createWorkerSession({
    transport: {} as Transport,
    loaded,
    gpu: undefined,
    memory: MEMORY,
    memoryLimit: 2 * MEMORY,
    mostBytes: 2 ** 22,
    headLink: HEAD_LINK,
    profile: async () => '{}',
    sendToHead: async (frame) => {
      answers++;
      readAnswer(frame);
    },
    onUnable: () => {},
    onWeightsLost: () => {},
    log: () => {},
  });
  try {
    let successors = false;
    for (const bytes of decodeConversation(input)) {
      const frame = decodeFrame(bytes);
      if (frame.kind === 'activations') session.onActivations(frame, HEAD_LINK);
      else if (frame.kind === 'experts') session.onExperts(frame);
      else if (frame.kind === 'sums') session.onSums(frame, HEAD_LINK);
      else if (frame.kind === 'message') successors = hear(session, frame, successors);
      const before = answers;
      await new Promise(setImmediate); // a preparation is asynchronous
      // Experts and slices are pinned before it is answered.
      if (holds(frame)) for (let waited = 0; waited < 50 && answers === before; waited++) await setTimeout(1);
    }
    return 'a conversation';
  } finally {
    await session.end();
  }
}

/** Whether a frame is an assignment with experts, or slices, to hold. */
function holds({ kind, payload }: Frame): boolean {
  return kind === 'message' && ['"held"', '"cut"'].some((word) => Buffer.from(payload).includes(word));
}

/** The answers of a session are read, as the head does. */
function readAnswer(frame: Frame): void {
  if (frame.kind === 'message') readMessage(frame, WORKER_MESSAGE);
  else encodeFrame(frame);
}

/**
 * Gives a message to the session unless it connects to other devices.
 * @param successors whether the assignment has some
 * @returns whether the assignment now has some
 */
function hear(session: WorkerSession, frame: Frame, successors: boolean): boolean {
  if (isOfWorker(frame)) {
    readMessage(frame, WORKER_MESSAGE);
    return successors;
  }
  const message = readMessage(frame, HEAD_MESSAGE);
  if (message.kind === 'hello' || message.kind === 'clock') return successors;
  if (!(message.kind === 'link' && successors)) session.onMessage(message);
  return message.kind === 'prepare' ? message.assignment.successors.length > 0 : successors;
}

const WORKER_KINDS =
  /^\{"kind":"(welcome|refused|prepared|linked|failed|lost|invalid|measured|profiled|experts","epoch":\d+,"reads|spans)"/;

function isOfWorker({ payload }: Frame): boolean {
  return WORKER_KINDS.test(new TextDecoder().decode(payload.subarray(0, 40)));
}
