import { CAUSES } from '../../cost/breakdown.ts';
import type { ExpertReads } from '../../experts/expert-reads.ts';
import {
  EXPERTS_EVICTIONS,
  EXPERTS_LAYOUTS,
  type ExpertsPolicy,
  type Lookahead,
  MOST_DEPTH,
  READ_METHODS,
} from '../../experts/experts-policy.ts';
import { POOLS } from '../../experts/replay-routing.ts';
import { KV_FORMATS } from '../../model/kv-format.ts';
import type { LayerOperatorName } from '../../model/operators.ts';
import type { Cut } from '../../plan/plan.ts';
import type { StreamedLayers } from '../../plan/ring-windows.ts';
import { type OperatorCut, SYNCHRONISATIONS, type TensorPartition } from '../../plan/tensor-partition.ts';
import {
  type FittedPolicy,
  isFitted,
  PREFETCHES,
  RELEASES,
  type Release,
  type WeightsPolicy,
} from '../../plan/weights-policy.ts';
import { LANES, type SpanArguments } from '../../trace/trace.ts';
import { ACTIVATION_FORMATS } from './activations.ts';
import { isAddress, MOST_DEVICES } from './address.ts';
import type { Frame, MessageFrame } from './frame.ts';
import { FrameError } from './frame-error.ts';
import {
  line,
  list,
  matching,
  number,
  object,
  oneOf,
  optional,
  pair,
  type Shape,
  text,
  truth,
  variant,
  whole,
} from './json-shape.ts';
import type {
  Assignment,
  HeadMessage,
  MeasuredLink,
  Predecessor,
  Successor,
  TensorCut,
  WeightsReport,
  WindowAssignment,
  WorkerMessage,
} from './message.ts';
import type { RingSpan } from './span.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
const NAME = line(200);
const REASON_LENGTH = 2000;
const REASON = line(REASON_LENGTH);
const UINT32 = whole(0, 2 ** 32 - 1);
const LAYER = whole(0, 1000);
/** Peers are told which addresses to connect to, so nothing but TCP may be named. */
const ADDRESS: Shape<string> = (value, where) => {
  if (typeof value !== 'string' || !isAddress(value))
    throw new FrameError(`a message whose ${where} is not an address, tcp://host:port`);
  return value;
};
const KEY = optional(matching(/^[0-9a-f]{64}$/));
const LINK_NAME = matching(/^[0-9a-f]{32}$/);
const TIME = number(-1e12, 1e12);

const WINDOW = object<WindowAssignment>({
  index: UINT32,
  from: LAYER,
  to: LAYER,
  onGpu: list(LAYER, 1000),
  onNpu: optional(list(LAYER, 1000)),
  next: variant<WindowAssignment['next']>({
    device: object({ kind: oneOf('device'), name: NAME }),
    head: object({ kind: oneOf('head') }),
  }),
});

/** Experts of all layers of a model, and choices of a router: a thousand each. */
const MOST_EXPERTS = 1e6;
const MOST_RANKS = 1000;
const SLOTS = whole(1, MOST_EXPERTS);
const EXPERTS = object<ExpertsPolicy>({
  slots: (value, where) => (value === 'fit' ? value : SLOTS(value, where)),
  pool: oneOf(...POOLS),
  eviction: oneOf(...EXPERTS_EVICTIONS),
  method: oneOf(...READ_METHODS),
  layout: oneOf(...EXPERTS_LAYOUTS),
  depth: whole(1, MOST_DEPTH),
  lookahead: variant<Lookahead>({
    none: object({ kind: oneOf('none') }),
    'next-router': object({ kind: oneOf('next-router'), ranks: whole(1, MOST_RANKS) }),
    'previous-token': object({ kind: oneOf('previous-token') }),
  }),
  hitsFirst: truth,
});

const PINNED_BYTES = number(0, LARGEST);
const POLICY_MEMBERS = object<{
  prefetch: WeightsPolicy['prefetch'];
  release: Release;
  pinned?: number | 'fit';
  experts?: ExpertsPolicy;
}>({
  prefetch: oneOf('fit', ...PREFETCHES),
  release: oneOf(...RELEASES),
  pinned: optional((value, where) => (value === 'fit' ? value : PINNED_BYTES(value, where))),
  experts: optional(EXPERTS),
});
const POLICY: Shape<WeightsPolicy> = (value, where) => {
  const { prefetch, release, pinned, experts } = POLICY_MEMBERS(value, where);
  if (experts !== undefined && !(prefetch === 'none' && release === 'none'))
    throw new FrameError(`a message whose ${where} has experts, with which prefetch and release must be "none"`);
  if ((release === 'pinned') !== (pinned !== undefined))
    throw new FrameError(`a message whose ${where} needs pinned weights if, and only if, its release is "pinned"`);
  if (release === 'pinned') return { prefetch, release, pinned: pinned as number | 'fit' };
  return { prefetch, release, ...(experts && { experts }) };
};
const FITTED_POLICY: Shape<FittedPolicy> = (value, where) => {
  const policy = POLICY(value, where);
  if (!isFitted(policy)) throw new FrameError(`a message whose ${where} is not fitted`);
  return policy;
};

const CUT = object<TensorCut>({
  allReduce: oneOf('exchange', 'star'),
  members: list(object<Cut>({ device: NAME, share: number(0, 1) }), MOST_DEVICES),
  own: whole(0, MOST_DEVICES),
});

const TOKENS = whole(1, 2 ** 20);
const OPERATOR_CUT = object<OperatorCut>({ npuRows: whole(0, 2 ** 24), npuLengths: list(TOKENS, 100) });
const LAYER_CUTS = {
  qkv: OPERATOR_CUT,
  'attention-output': OPERATOR_CUT,
  'gate-up': OPERATOR_CUT,
  down: OPERATOR_CUT,
} as const satisfies Record<LayerOperatorName, Shape<OperatorCut>>;
const PARTITION = object<TensorPartition>({
  synchronisation: oneOf(...SYNCHRONISATIONS),
  graphs: oneOf('prepared', 'online'),
  promptTokens: TOKENS,
  prefill: object<TensorPartition['prefill']>(LAYER_CUTS),
  decode: object<TensorPartition['decode']>({ ...LAYER_CUTS, output: OPERATOR_CUT }),
});

const ASSIGNMENT = object<Assignment>({
  epoch: UINT32,
  windowCount: UINT32,
  windows: list(WINDOW, 1000),
  successors: list(
    object<Successor>({ name: NAME, address: ADDRESS, publicKey: KEY, linkName: LINK_NAME }),
    MOST_DEVICES,
  ),
  predecessors: list(object<Predecessor>({ name: NAME, publicKey: KEY, linkName: LINK_NAME }), MOST_DEVICES),
  sources: list(object<Assignment['sources'][number]>({ window: UINT32, from: NAME }), 1000),
  context: whole(1, 2 ** 31),
  requests: whole(1, 1000),
  pageTokens: whole(1, 2 ** 31),
  kvCache: oneOf(...KV_FORMATS),
  keysInRam: optional(truth),
  activations: oneOf(...ACTIVATION_FORMATS),
  chunk: whole(1, 65_536),
  weights: POLICY,
  held: optional(list(list(whole(0, MOST_EXPERTS), MOST_EXPERTS), 1000)),
  cut: optional(CUT),
  partition: optional(PARTITION),
  streamed: optional(
    object<StreamedLayers>({ way: oneOf('ahead', 'in-turn'), layers: list(LAYER, 1000), output: truth }),
  ),
  trace: truth,
});

export const HEAD_MESSAGE: Shape<HeadMessage> = variant<HeadMessage>({
  hello: object({
    kind: oneOf('hello'),
    head: NAME,
    device: NAME,
    model: matching(/^[0-9a-f]{64}$/),
    ring: LINK_NAME,
  }),
  prepare: object({ kind: oneOf('prepare'), assignment: ASSIGNMENT }),
  link: object({ kind: oneOf('link'), epoch: UINT32 }),
  measure: object({ kind: oneOf('measure'), epoch: UINT32, bytes: whole(1, 2 ** 24) }),
  clock: object({ kind: oneOf('clock'), sentAt: TIME }),
  report: object({ kind: oneOf('report') }),
  memory: object({ kind: oneOf('memory') }),
  experts: object({ kind: oneOf('experts'), epoch: UINT32 }),
  profile: object({ kind: oneOf('profile'), fresh: truth }),
  bye: object({ kind: oneOf('bye') }),
});

/** The arguments of spans of weights. */
const ARGUMENTS = object<Partial<SpanArguments>>({
  bytes: optional(number(0, LARGEST)),
  released: optional(number(0, LARGEST)),
  what: optional(line(2000)),
  call: optional(NAME),
  cancelled: optional(NAME),
});

const SPAN = variant<RingSpan>({
  compute: object({
    kind: oneOf('compute'),
    from: LAYER,
    to: LAYER,
    tokens: UINT32,
    request: UINT32,
    start: TIME,
    end: TIME,
  }),
  receive: object({
    kind: oneOf('receive'),
    sender: NAME,
    bytes: UINT32,
    request: UINT32,
    sentAt: TIME,
    receivedAt: TIME,
  }),
  weights: object({
    kind: oneOf('weights'),
    lane: oneOf(...LANES),
    cause: oneOf(...CAUSES),
    name: NAME,
    start: TIME,
    end: TIME,
    args: ARGUMENTS,
  }),
  sample: object({ kind: oneOf('sample'), name: NAME, time: TIME, value: number(-LARGEST, LARGEST) }),
});

const WEIGHTS_REPORT = object<WeightsReport>({
  policy: FITTED_POLICY,
  bytes: number(0, LARGEST),
});

const EPOCH = { epoch: UINT32 };

const COUNT = whole(0, LARGEST);
const EXPERT_COUNTS = object<ExpertReads>({
  needs: COUNT,
  reads: COUNT,
  ahead: COUNT,
  wrong: COUNT,
  bytes: number(0, LARGEST),
  waited: number(0, 1e12),
});
const EXPERT_READS: Shape<ExpertReads> = (value, where) => {
  const counts = EXPERT_COUNTS(value, where);
  if (counts.reads > counts.needs) throw new FrameError(`a message whose ${where} has more reads than needs`);
  return counts;
};

export const WORKER_MESSAGE: Shape<WorkerMessage> = variant<WorkerMessage>({
  welcome: object({
    kind: oneOf('welcome'),
    ringPort: whole(1, 65_535),
    memory: number(0, LARGEST),
    gpu: optional(NAME),
    layers: list(LAYER, 1001),
    digests: list(pair(matching(/^(\d{1,4}|outer)$/), matching(/^[0-9a-f]{32}$/)), 1002),
  }),
  refused: object({ kind: oneOf('refused'), reason: REASON }),
  crowded: object({ kind: oneOf('crowded') }),
  prepared: object({ kind: oneOf('prepared'), ...EPOCH, weights: optional(WEIGHTS_REPORT) }),
  linked: object({ kind: oneOf('linked'), ...EPOCH }),
  failed: object({ kind: oneOf('failed'), ...EPOCH, reason: REASON }),
  unable: object({ kind: oneOf('unable'), reason: REASON }),
  lost: object({ kind: oneOf('lost'), ...EPOCH, device: NAME, reason: REASON }),
  invalid: object({ kind: oneOf('invalid'), ...EPOCH, device: NAME, reason: REASON }),
  measured: object({
    kind: oneOf('measured'),
    ...EPOCH,
    links: list(
      object<MeasuredLink>({ to: NAME, latency: number(0, 1e6), bandwidth: number(0, LARGEST) }),
      MOST_DEVICES,
    ),
  }),
  clock: object({ kind: oneOf('clock'), sentAt: TIME, at: TIME }),
  profiled: object({ kind: oneOf('profiled'), facts: text(2 ** 18) }),
  unprofiled: object({ kind: oneOf('unprofiled'), reason: REASON }),
  memory: object({
    kind: oneOf('memory'),
    limit: number(1, LARGEST),
    planned: number(0, LARGEST),
    measured: optional(number(0, LARGEST)),
  }),
  experts: object({ kind: oneOf('experts'), ...EPOCH, reads: optional(EXPERT_READS) }),
  spans: object({ kind: oneOf('spans'), spans: list(SPAN, 20_000) }),
});

/** An error's message as a peer accepts it: one line, without control characters, and no longer than allowed. */
export function reasonOf(message: string): string {
  return message.replace(/\p{Cc}+/gu, ' ').slice(0, REASON_LENGTH);
}

/** Encodes a message. */
export function messageFrame(message: HeadMessage | WorkerMessage): MessageFrame {
  return { kind: 'message', payload: new TextEncoder().encode(JSON.stringify(message)) };
}

/** Decodes a message. @throws FrameError for a frame that is not a message of this shape */
export function readMessage<Message>(frame: Frame, shape: Shape<Message>): Message {
  if (frame.kind !== 'message') throw new FrameError(`a frame of kind ${frame.kind} where a message belongs`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(frame.payload));
  } catch {
    throw new FrameError('a message that is not JSON');
  }
  return shape(value, 'message');
}
