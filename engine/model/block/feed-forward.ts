import { ROUTE_NUMBERS } from '../feed-forward.ts';
import type { Dense, Experts, LayerKind, SharedExpert } from '../layer-kind.ts';
import type { BufferName, LayerStep } from './layer-step.ts';
import {
  type ExpertBias,
  type ExpertMatrix,
  type LayerMatrix,
  type LayerWeight,
  matrix,
  vector,
} from './layer-weight.ts';
import { addsDirectly, type BlockPart, resultBuffer, resultOf } from './part.ts';

/** Names of a dense network's matrices. */
interface DenseNames {
  readonly gate: LayerMatrix;
  readonly up: LayerMatrix;
  readonly down: LayerMatrix;
}
const DENSE: DenseNames = { gate: 'ffn_gate', up: 'ffn_up', down: 'ffn_down' };
const SHARED: DenseNames = { gate: 'ffn_gate_shexp', up: 'ffn_up_shexp', down: 'ffn_down_shexp' };

/** The feed-forward part of a layer, from the normalised stream in `h` to its result. */
export function feedForwardPart(kind: LayerKind, feedForward: Dense | Experts, hiddenSize: number): BlockPart {
  if (feedForward.kind === 'dense') return densePart(kind, feedForward, hiddenSize);
  return feedForward.beside === undefined
    ? expertsPart(kind, feedForward, hiddenSize)
    : besidePart(feedForward, feedForward.beside, hiddenSize);
}

type Inner = Pick<Dense, 'size' | 'activation' | 'ungated' | 'biases'>;

function densePart(kind: LayerKind, dense: Dense, hiddenSize: number): BlockPart {
  const { biases = [], size } = dense;
  const bias = biases.includes('ffn_down') && ({ bias: 'ffn_down_bias' } as const);
  return {
    weights: [
      ...denseWeights(dense, hiddenSize, DENSE),
      ...biases.map((name) => vector(`${name}_bias`, name === 'ffn_down' ? hiddenSize : size)),
    ],
    widths: denseWidths(dense),
    steps: [...denseSteps(dense, DENSE), resultOf(kind, { weight: 'ffn_down', x: innerBuffer(dense), ...bias })],
  };
}

function denseWeights({ size, ungated }: Inner, hiddenSize: number, { gate, up, down }: DenseNames): LayerWeight[] {
  return [
    ...(ungated ? [] : [matrix(gate, size, hiddenSize)]),
    matrix(up, size, hiddenSize),
    matrix(down, hiddenSize, size),
  ];
}

function denseWidths({ size, ungated }: Inner): BlockPart['widths'] {
  return ungated ? { up: size } : { gate: size, up: size };
}

/** The buffer of a dense network's activations. */
function innerBuffer({ ungated }: Inner): BufferName {
  return ungated ? 'up' : 'gate';
}

/** A dense network but for its last product. */
function denseSteps(inner: Inner, { gate, up }: DenseNames): LayerStep[] {
  return [
    ...(inner.ungated ? [] : [innerProduct(inner, gate, 'gate')]),
    innerProduct(inner, up, 'up'),
    { kind: 'gate', activation: inner.activation, gate: innerBuffer(inner), up: 'up' },
  ];
}

function innerProduct({ biases }: Inner, weight: LayerMatrix, y: 'gate' | 'up'): LayerStep {
  const name = `ffn_${y}` as const;
  const bias = biases?.includes(name) && ({ bias: `${name}_bias` } as const);
  return { kind: 'multiply', weight, x: 'h', y, ...bias };
}

function expertsPart(kind: LayerKind, experts: Experts, hiddenSize: number): BlockPart {
  const { activation, ungated, shared } = experts;
  const inner = shared && { size: shared.size, activation, ...(ungated && { ungated }) };
  const y = resultBuffer(kind);
  return {
    weights: [
      ...expertWeights(experts, hiddenSize),
      ...(inner === undefined ? [] : denseWeights(inner, hiddenSize, SHARED)),
      ...(shared?.gated ? [matrix('ffn_gate_inp_shexp', 1, hiddenSize)] : []),
    ],
    widths: {
      ...expertWidths(experts, hiddenSize),
      ...(inner && denseWidths(inner)),
      ...(shared?.gated && { sharedGate: 1 }),
    },
    steps: [
      ...routeSteps(experts),
      ...expertSteps(experts),
      { kind: 'combine-experts', y, ...(addsDirectly(kind) && { accumulate: true as const }) },
      ...(inner === undefined || shared === undefined ? [] : sharedSteps(y, inner, shared)),
    ],
  };
}

/** The gate of a shared expert multiplies what its last product reads: that is linear. */
function sharedSteps(y: BufferName, inner: Inner, { gated }: SharedExpert): LayerStep[] {
  const x = innerBuffer(inner);
  const gate: LayerStep[] = [
    { kind: 'multiply', weight: 'ffn_gate_inp_shexp', x: 'h', y: 'sharedGate' },
    { kind: 'gate-rows', gate: 'sharedGate', y: x },
  ];
  return [
    ...denseSteps(inner, SHARED),
    ...(gated ? gate : []),
    { kind: 'multiply', weight: SHARED.down, x, y, accumulate: true },
  ];
}

/** A dense network and a mixture, which read the stream through norms of their own and whose normalised results are added. */
function besidePart(experts: Experts, size: number, hiddenSize: number): BlockPart {
  const inner: Inner = { size, activation: experts.activation };
  return {
    weights: [
      ...denseWeights(inner, hiddenSize, DENSE),
      ...expertWeights(experts, hiddenSize),
      vector('ffn_gate_inp_scale', hiddenSize),
      ...(['post_ffw_norm_1', 'pre_ffw_norm_2', 'post_ffw_norm_2'] as const).map((norm) => vector(norm, hiddenSize)),
    ],
    widths: { ...denseWidths(inner), ...expertWidths(experts, hiddenSize), mixture: hiddenSize },
    steps: [
      ...denseSteps(inner, DENSE),
      { kind: 'multiply', weight: 'ffn_down', x: 'gate', y: 'result' },
      { kind: 'rms-norm', x: 'result', weight: 'post_ffw_norm_1', y: 'result' },
      { kind: 'rms-norm', x: 'x', weight: 'ffn_gate_inp_scale', y: 'h' },
      ...routeSteps(experts),
      { kind: 'rms-norm', x: 'x', weight: 'pre_ffw_norm_2', y: 'h' },
      ...expertSteps(experts),
      { kind: 'combine-experts', y: 'mixture' },
      { kind: 'rms-norm', x: 'mixture', weight: 'post_ffw_norm_2', y: 'mixture' },
      { kind: 'add', x: 'mixture', y: 'result', factor: 1 },
    ],
  };
}

function expertWeights(experts: Experts, hiddenSize: number): LayerWeight[] {
  const { router, size, bias, choiceBias, ungated } = experts;
  const ofExperts = (role: ExpertMatrix | ExpertBias, rows: number, columns: number): LayerWeight => ({
    ...{ role, rows: router.experts * rows, columns, experts: router.experts },
  });
  return [
    matrix('ffn_gate_inp', router.experts, hiddenSize),
    ...(ungated ? [] : [ofExperts('ffn_gate_exps', size, hiddenSize)]),
    ofExperts('ffn_up_exps', size, hiddenSize),
    ofExperts('ffn_down_exps', hiddenSize, size),
    ...(bias
      ? [
          vector('ffn_gate_inp_bias', router.experts),
          ofExperts('ffn_gate_exps_bias', 1, size),
          ofExperts('ffn_up_exps_bias', 1, size),
          ofExperts('ffn_down_exps_bias', 1, hiddenSize),
        ]
      : []),
    ...(choiceBias ? [vector('exp_probs_b_bias', router.experts)] : []),
  ];
}

function expertWidths({ router, size, ungated }: Experts, hiddenSize: number): BlockPart['widths'] {
  const { experts, used } = router;
  return {
    ...{ routerLogits: experts, routes: ROUTE_NUMBERS * used, expertUp: used * size, expertResult: used * hiddenSize },
    ...(!ungated && { expertGate: used * size }),
  };
}

function routeSteps({ bias, choiceBias }: Experts): LayerStep[] {
  return [
    {
      ...{ kind: 'multiply', weight: 'ffn_gate_inp', x: 'h', y: 'routerLogits' },
      ...(bias && { bias: 'ffn_gate_inp_bias' }),
    },
    { kind: 'route', ...(choiceBias && { bias: 'exp_probs_b_bias' }) },
  ];
}

/** The experts' products, up to each chosen expert's result. */
function expertSteps({ activation, ungated, bias }: Pick<Experts, 'activation' | 'ungated' | 'bias'>): LayerStep[] {
  const product = (weight: ExpertMatrix, biased: ExpertBias, x: BufferName, y: BufferName): LayerStep => ({
    ...{ kind: 'multiply-experts', weight, x, y },
    ...(bias && { bias: biased }),
  });
  const inner = ungated ? 'expertUp' : 'expertGate';
  return [
    ...(ungated ? [] : [product('ffn_gate_exps', 'ffn_gate_exps_bias', 'h', 'expertGate')]),
    product('ffn_up_exps', 'ffn_up_exps_bias', 'h', 'expertUp'),
    { kind: 'gate', activation, gate: inner, up: 'expertUp' },
    product('ffn_down_exps', 'ffn_down_exps_bias', inner, 'expertResult'),
  ];
}
