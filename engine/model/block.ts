import { type Activation, ROUTE_NUMBERS } from './feed-forward.ts';
import type { Dense, Experts, LayerKind, RotationName, SharedExpert } from './layer-kind.ts';

/**
 * A layer (block) of a transformer, described once: what follows from its kind, which is the weights it has, the buffers it
 * works in and the operations it consists of.
 */

/** Weights of a layer, by the names that GGUF files have for them. */
export type LayerMatrix =
  | 'attn_q'
  | 'attn_k'
  | 'attn_v'
  | 'attn_output'
  | 'ffn_gate'
  | 'ffn_up'
  | 'ffn_down'
  /** The router, the shared expert and the number that gates it. */
  | 'ffn_gate_inp'
  | 'ffn_gate_shexp'
  | 'ffn_up_shexp'
  | 'ffn_down_shexp'
  | 'ffn_gate_inp_shexp';
/** The matrices of all experts, one expert after the other. */
export type ExpertMatrix = 'ffn_gate_exps' | 'ffn_up_exps' | 'ffn_down_exps';
export type LayerBias = 'attn_q_bias' | 'attn_k_bias' | 'attn_v_bias' | 'attn_output_bias' | 'ffn_gate_inp_bias';
export type ExpertBias = 'ffn_gate_exps_bias' | 'ffn_up_exps_bias' | 'ffn_down_exps_bias';
/** Vectors that are used by themselves: sinks of heads, and the bias of scores where experts are chosen. */
export type LayerVector = 'attn_sinks' | 'exp_probs_b_bias';
export type LayerNorm =
  | 'attn_norm'
  | 'attn_q_norm'
  | 'attn_k_norm'
  | 'post_attention_norm'
  | 'ffn_norm'
  | 'post_ffw_norm';

/** A weight of a layer; a vector has one row. */
export interface LayerWeight {
  readonly role: LayerMatrix | ExpertMatrix | LayerBias | ExpertBias | LayerVector | LayerNorm;
  /** Rows of all experts where it has a matrix, or a vector, of each. */
  readonly rows: number;
  readonly columns: number;
  /** Experts that it has rows of; missing: it is used by every token. */
  readonly experts?: number;
}

/** Buffers with values of every token; all layers use the same memory. */
export type BufferName =
  | 'x'
  | 'h'
  | 'q'
  | 'k'
  | 'v'
  | 'attended'
  | 'gate'
  | 'up'
  | 'result'
  /** The router's logits, the chosen experts with their weights, and what each of them computes. */
  | 'routerLogits'
  | 'routes'
  | 'expertGate'
  | 'expertUp'
  | 'expertResult'
  /** The number that gates the shared expert. */
  | 'sharedGate';

/** An operation over named buffers and weights. `attend` stores keys and values, and attends to those of past tokens. */
export type LayerStep =
  | { readonly kind: 'rms-norm'; readonly x: BufferName; readonly weight: LayerNorm; readonly y: BufferName }
  | {
      readonly kind: 'multiply';
      readonly weight: LayerMatrix;
      readonly bias?: LayerBias;
      readonly x: BufferName;
      readonly y: BufferName;
      readonly accumulate?: true;
    }
  | { readonly kind: 'rope'; readonly x: 'q' | 'k'; readonly heads: number; readonly rotation: RotationName }
  | { readonly kind: 'attend' }
  | {
      readonly kind: 'gate';
      readonly activation: Activation;
      readonly gate: BufferName;
      readonly up: BufferName;
    }
  | { readonly kind: 'route'; readonly bias?: LayerVector }
  | {
      readonly kind: 'multiply-experts';
      readonly weight: ExpertMatrix;
      readonly bias?: ExpertBias;
      readonly x: BufferName;
      readonly y: BufferName;
    }
  | { readonly kind: 'combine-experts'; readonly y: BufferName; readonly accumulate?: true }
  | { readonly kind: 'gate-rows'; readonly gate: BufferName; readonly y: BufferName }
  | { readonly kind: 'add'; readonly x: BufferName; readonly factor: number };

/** A layer's weights, buffers and operations, as they follow from its kind. */
export interface Block {
  readonly weights: readonly LayerWeight[];
  /** Values of each buffer for one token; 0 for those that it doesn't use. */
  readonly widths: Readonly<Record<BufferName, number>>;
  readonly steps: readonly LayerStep[];
}

const described = new WeakMap<LayerKind, Map<number, Block>>();

/**
 * A layer of this kind (Touvron et al. 2023, Section 2.2):
 *
 *     x += W_o · attention(W_q · h, W_k · h, W_v · h),        h = norm(x)
 *     x += W_down · (activation(W_gate · h) ∘ W_up · h),      h = norm(x)
 *
 * @param hiddenSize width of the residual stream
 */
export function describe(kind: LayerKind, hiddenSize: number): Block {
  const known = described.get(kind) ?? new Map<number, Block>();
  described.set(kind, known);
  const block = known.get(hiddenSize) ?? {
    weights: weightsOf(kind, hiddenSize),
    widths: widthsOf(kind, hiddenSize),
    steps: [...attentionSteps(kind), ...feedForwardSteps(kind)],
  };
  known.set(hiddenSize, block);
  return block;
}

function weightsOf(kind: LayerKind, hiddenSize: number): LayerWeight[] {
  return [
    ...attentionWeights(kind, hiddenSize),
    vector(feedForwardNorm(kind), hiddenSize),
    ...(kind.feedForward.kind === 'dense'
      ? denseWeights(kind.feedForward.size, hiddenSize, DENSE)
      : expertWeights(kind.feedForward, hiddenSize)),
    ...(kind.resultNorms ? [vector('post_ffw_norm', hiddenSize)] : []),
  ];
}

function matrix(role: LayerMatrix, rows: number, columns: number): LayerWeight {
  return { role, rows, columns };
}

function vector(role: LayerBias | LayerVector | LayerNorm, columns: number): LayerWeight {
  return { role, rows: 1, columns };
}

function attentionWeights({ attention, resultNorms }: LayerKind, hiddenSize: number): LayerWeight[] {
  const { heads, kvHeads, headSize, bias, outputBias, norms, sinks } = attention;
  const [queryWidth, kvWidth] = [heads * headSize, kvHeads * headSize];
  const [queryNorm, keyNorm] = norms === 'all-heads' ? [queryWidth, kvWidth] : [headSize, headSize];
  return [
    vector('attn_norm', hiddenSize),
    matrix('attn_q', queryWidth, hiddenSize),
    matrix('attn_k', kvWidth, hiddenSize),
    matrix('attn_v', kvWidth, hiddenSize),
    matrix('attn_output', hiddenSize, queryWidth),
    ...(bias
      ? [vector('attn_q_bias', queryWidth), vector('attn_k_bias', kvWidth), vector('attn_v_bias', kvWidth)]
      : []),
    ...(outputBias ? [vector('attn_output_bias', hiddenSize)] : []),
    ...(norms === undefined ? [] : [vector('attn_q_norm', queryNorm), vector('attn_k_norm', keyNorm)]),
    ...(sinks ? [vector('attn_sinks', heads)] : []),
    ...(resultNorms ? [vector('post_attention_norm', hiddenSize)] : []),
  ];
}

/** Names of a dense network's matrices. */
interface DenseNames {
  readonly gate: LayerMatrix;
  readonly up: LayerMatrix;
  readonly down: LayerMatrix;
}
const DENSE: DenseNames = { gate: 'ffn_gate', up: 'ffn_up', down: 'ffn_down' };
const SHARED: DenseNames = { gate: 'ffn_gate_shexp', up: 'ffn_up_shexp', down: 'ffn_down_shexp' };

function denseWeights(size: number, hiddenSize: number, { gate, up, down }: DenseNames): LayerWeight[] {
  return [matrix(gate, size, hiddenSize), matrix(up, size, hiddenSize), matrix(down, hiddenSize, size)];
}

function expertWeights({ router, size, bias, choiceBias, shared }: Experts, hiddenSize: number): LayerWeight[] {
  const { experts } = router;
  const ofExperts = (role: ExpertMatrix | ExpertBias, rows: number, columns: number): LayerWeight => ({
    ...{ role, rows: experts * rows, columns, experts },
  });
  return [
    matrix('ffn_gate_inp', experts, hiddenSize),
    ofExperts('ffn_gate_exps', size, hiddenSize),
    ofExperts('ffn_up_exps', size, hiddenSize),
    ofExperts('ffn_down_exps', hiddenSize, size),
    ...(bias
      ? [
          vector('ffn_gate_inp_bias', experts),
          ofExperts('ffn_gate_exps_bias', 1, size),
          ofExperts('ffn_up_exps_bias', 1, size),
          ofExperts('ffn_down_exps_bias', 1, hiddenSize),
        ]
      : []),
    ...(choiceBias ? [vector('exp_probs_b_bias', experts)] : []),
    ...(shared === undefined ? [] : denseWeights(shared.size, hiddenSize, SHARED)),
    ...(shared?.gated ? [matrix('ffn_gate_inp_shexp', 1, hiddenSize)] : []),
  ];
}

function feedForwardNorm({ feedForwardNorm: name = 'ffn_norm' }: LayerKind): LayerNorm {
  return name;
}

function widthsOf(kind: LayerKind, hiddenSize: number): Record<BufferName, number> {
  const { heads, kvHeads, headSize } = kind.attention;
  return {
    x: hiddenSize,
    h: hiddenSize,
    q: heads * headSize,
    k: kvHeads * headSize,
    v: kvHeads * headSize,
    attended: heads * headSize,
    result: addsDirectly(kind) ? 0 : hiddenSize,
    ...feedForwardWidths(kind.feedForward, hiddenSize),
  };
}

type FeedForwardBuffer =
  | 'gate'
  | 'up'
  | 'routerLogits'
  | 'routes'
  | 'expertGate'
  | 'expertUp'
  | 'expertResult'
  | 'sharedGate';

function feedForwardWidths(feedForward: Dense | Experts, hiddenSize: number): Record<FeedForwardBuffer, number> {
  const dense = feedForward.kind === 'dense' ? feedForward.size : (feedForward.shared?.size ?? 0);
  const none = { routerLogits: 0, routes: 0, expertGate: 0, expertUp: 0, expertResult: 0, sharedGate: 0 };
  if (feedForward.kind === 'dense') return { ...none, gate: dense, up: dense };
  const { router, size, shared } = feedForward;
  const { experts, used } = router;
  return {
    ...{ gate: dense, up: dense, routerLogits: experts, routes: ROUTE_NUMBERS * used },
    ...{ expertGate: used * size, expertUp: used * size, expertResult: used * hiddenSize },
    sharedGate: shared?.gated ? 1 : 0,
  };
}

function attentionSteps(kind: LayerKind): LayerStep[] {
  const { heads, kvHeads, bias, outputBias, norms, rotation } = kind.attention;
  const product = (weight: LayerMatrix, biased: LayerBias, y: BufferName): LayerStep => ({
    ...{ kind: 'multiply', weight, x: 'h', y },
    ...(bias && { bias: biased }),
  });
  const normSteps: LayerStep[] =
    norms === undefined
      ? []
      : [
          { kind: 'rms-norm', x: 'q', weight: 'attn_q_norm', y: 'q' },
          { kind: 'rms-norm', x: 'k', weight: 'attn_k_norm', y: 'k' },
        ];
  const rotations: LayerStep[] =
    rotation === 'none'
      ? []
      : [
          { kind: 'rope', x: 'q', heads, rotation },
          { kind: 'rope', x: 'k', heads: kvHeads, rotation },
        ];
  return [
    { kind: 'rms-norm', x: 'x', weight: 'attn_norm', y: 'h' },
    product('attn_q', 'attn_q_bias', 'q'),
    product('attn_k', 'attn_k_bias', 'k'),
    product('attn_v', 'attn_v_bias', 'v'),
    ...(norms === 'heads-after-rotation' ? [...rotations, ...normSteps] : [...normSteps, ...rotations]),
    { kind: 'attend' },
    { ...resultOf(kind, 'attn_output', 'attended'), ...(outputBias && { bias: 'attn_output_bias' as const }) },
    ...added(kind, 'post_attention_norm'),
  ];
}

function feedForwardSteps(kind: LayerKind): LayerStep[] {
  const { feedForward } = kind;
  return [
    { kind: 'rms-norm', x: 'x', weight: feedForwardNorm(kind), y: 'h' },
    ...(feedForward.kind === 'dense'
      ? [...denseSteps(feedForward.activation, DENSE), resultOf(kind, 'ffn_down', 'gate')]
      : expertSteps(kind, feedForward)),
    ...added(kind, 'post_ffw_norm'),
  ];
}

/** A dense network but for its last product. */
function denseSteps(activation: Activation, { gate, up }: DenseNames): LayerStep[] {
  return [
    { kind: 'multiply', weight: gate, x: 'h', y: 'gate' },
    { kind: 'multiply', weight: up, x: 'h', y: 'up' },
    { kind: 'gate', activation, gate: 'gate', up: 'up' },
  ];
}

function expertSteps(kind: LayerKind, { activation, bias, choiceBias, shared }: Experts): LayerStep[] {
  const product = (weight: ExpertMatrix, biased: ExpertBias, x: BufferName, y: BufferName): LayerStep => ({
    ...{ kind: 'multiply-experts', weight, x, y },
    ...(bias && { bias: biased }),
  });
  const y = resultBuffer(kind);
  return [
    {
      kind: 'multiply',
      weight: 'ffn_gate_inp',
      x: 'h',
      y: 'routerLogits',
      ...(bias && { bias: 'ffn_gate_inp_bias' as const }),
    },
    { kind: 'route', ...(choiceBias && { bias: 'exp_probs_b_bias' as const }) },
    product('ffn_gate_exps', 'ffn_gate_exps_bias', 'h', 'expertGate'),
    product('ffn_up_exps', 'ffn_up_exps_bias', 'h', 'expertUp'),
    { kind: 'gate', activation, gate: 'expertGate', up: 'expertUp' },
    product('ffn_down_exps', 'ffn_down_exps_bias', 'expertGate', 'expertResult'),
    { kind: 'combine-experts', y, ...(addsDirectly(kind) && { accumulate: true as const }) },
    ...(shared === undefined ? [] : sharedSteps(y, activation, shared)),
  ];
}

/** The gate of a shared expert multiplies what its last product reads: that is linear. */
function sharedSteps(y: BufferName, activation: Activation, { gated }: SharedExpert): LayerStep[] {
  const gate: LayerStep[] = [
    { kind: 'multiply', weight: 'ffn_gate_inp_shexp', x: 'h', y: 'sharedGate' },
    { kind: 'gate-rows', gate: 'sharedGate', y: 'gate' },
  ];
  return [
    ...denseSteps(activation, SHARED),
    ...(gated ? gate : []),
    { kind: 'multiply', weight: SHARED.down, x: 'gate', y, accumulate: true },
  ];
}

/** Whether results are added to the residual stream as they are. */
function addsDirectly({ resultNorms, residualScale = 1 }: LayerKind): boolean {
  return !resultNorms && residualScale === 1;
}

/** Where the result of attention, or of the feed-forward part, goes. */
function resultBuffer(kind: LayerKind): BufferName {
  return addsDirectly(kind) ? 'x' : 'result';
}

/** The product that gives a result. */
function resultOf(kind: LayerKind, weight: LayerMatrix, x: BufferName): LayerStep & { readonly kind: 'multiply' } {
  const product = { kind: 'multiply', weight, x, y: resultBuffer(kind) } as const;
  return addsDirectly(kind) ? { ...product, accumulate: true } : product;
}

/** A result that isn't added directly is added to the residual stream, normalised and scaled where the kind says so. */
function added(kind: LayerKind, norm: LayerNorm): LayerStep[] {
  if (addsDirectly(kind)) return [];
  return [
    ...(kind.resultNorms ? ([{ kind: 'rms-norm', x: 'result', weight: norm, y: 'result' }] as const) : []),
    { kind: 'add', x: 'result', factor: kind.residualScale ?? 1 },
  ];
}
