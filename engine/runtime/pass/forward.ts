import type { EmbedOperation, MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Shape } from '../../model/architecture.ts';
import type { LayerWeights, OutputWeights, Weights } from '../weights/transformer-weights.ts';
import type { Activations } from './activations.ts';
import type { LayerBatches } from './attention.ts';
import type { LayerSettings } from './layer-operations.ts';
import type { PartTime } from './transformer.ts';

/** A part of the model and its operations. */
export interface PassPart {
  readonly name: PartTime['name'];
  readonly operations: readonly Operation[];
  /** Batches that follow (see LayerBatches). */
  readonly later?: LayerBatches['later'];
}

export interface ForwardPass {
  readonly layerSettings: LayerSettings;
  readonly weights: Weights;
  /** The operations of a layer, by its index. */
  readonly layerBatches: (layer: LayerWeights, index: number) => LayerBatches;
  /** Activations of these tokens, with the angles of their positions. */
  readonly activations: Activations;
  /** The tokens whose logits are wanted, in order. */
  readonly wanted: readonly TokenRange[];
  /** [wanted tokens][vocabulary] */
  readonly logits: Vector;
  /** The tokens whose hidden states are wanted; afterwards they are, in order, the first rows of `activations.h`. */
  readonly hidden: readonly TokenRange[];
  readonly tokens: readonly number[];
  /** How the output layer multiplies. */
  readonly multiplied?: MultiplyOperation['multiplied'] | undefined;
}

/** Tokens of a pass from `first` on. */
export interface TokenRange {
  readonly first: number;
  readonly count: number;
}

type OutputPass = Pick<ForwardPass, 'layerSettings' | 'logits' | 'wanted' | 'multiplied'> & {
  readonly weights: OutputWeights;
  readonly activations: Pick<Activations, 'x' | 'h'>;
};

/** A forward pass: x = embedding of the tokens; every layer adds to x; hidden = norm(x); logits = W_output · hidden. */
export function forward(pass: ForwardPass): PassPart[] {
  const { weights, activations, tokens, layerBatches } = pass;
  const layers = weights.layers.map(
    (layer, index): PassPart => ({ name: `layer ${index}`, ...layerBatches(layer, index) }),
  );
  return [
    {
      name: 'embedding',
      operations: [
        ...embedOperations(pass.layerSettings.shape, { table: weights.embedding, tokens, y: activations.x }),
        ...layerInputOperations(pass),
      ],
    },
    ...layers,
    ...outputPart(pass, pass.hidden),
  ];
}

/** The embedding of tokens, the beginning of the residual stream. */
export function embedOperations(
  { embeddingScale }: Pick<Shape, 'embeddingScale'>,
  parts: Omit<EmbedOperation, 'kind'>,
): Operation[] {
  const scale: Operation[] =
    embeddingScale === undefined ? [] : [{ kind: 'scale', y: parts.y, factor: embeddingScale }];
  return [{ kind: 'embed', ...parts }, ...scale];
}

/**
 * The embeddings that layers have for themselves, and what the whole embedding adds to them: (√P·e + rms(W·x/√H))/√2 for each
 * layer's P values (Gemma 3n).
 */
function layerInputOperations({ layerSettings, weights, activations, tokens }: ForwardPass): Operation[] {
  const { shape, normEpsilon: epsilon } = layerSettings;
  const { layerInputs: own } = weights;
  if (own === undefined || activations.layerInputs === undefined || shape.layerInputs === undefined) return [];
  const { inputs, projected } = activations.layerInputs;
  return [
    { kind: 'embed', table: own.table, tokens, y: inputs },
    { kind: 'scale', y: inputs, factor: Math.sqrt(shape.layerInputs) },
    { kind: 'multiply', ...own.projection, x: activations.x, y: projected },
    { kind: 'scale', y: projected, factor: 1 / Math.sqrt(shape.hiddenSize) },
    { kind: 'rms-norm', x: projected, weight: own.norm, y: projected, epsilon },
    { kind: 'add', x: projected, y: inputs },
    { kind: 'scale', y: inputs, factor: Math.SQRT1_2 },
  ];
}

/** The output layer for the tokens whose logits, or whose hidden states, are wanted; empty without any. */
export function outputPart(pass: OutputPass, hidden: readonly TokenRange[] = []): PassPart[] {
  const operations = [...logitsOperations(pass), ...hiddenOperations(pass, hidden)];
  return operations.length === 0 ? [] : [{ name: 'output', operations }];
}

function logitsOperations(pass: OutputPass): readonly Operation[] {
  const { weights, activations, logits, wanted, multiplied } = pass;
  const rows = wanted.reduce((sum, { count }) => sum + count, 0);
  if (rows === 0) return [];
  const h = activations.h.slice(0, rows * pass.layerSettings.shape.hiddenSize);
  const { logitScale, logitCap } = pass.layerSettings.shape;
  return [
    ...hiddenOperations(pass, wanted),
    { kind: 'multiply', ...weights.output, x: h, y: logits, multiplied },
    ...(logitScale === undefined ? [] : [{ kind: 'scale', y: logits, factor: logitScale } as const]),
    ...(logitCap === undefined ? [] : [{ kind: 'soft-cap', y: logits, cap: logitCap } as const]),
  ];
}

/** The output's norm of some tokens, in order, to the first rows of `h`. */
export function hiddenOperations(
  { layerSettings, weights, activations }: Pick<OutputPass, 'layerSettings' | 'weights' | 'activations'>,
  tokens: readonly TokenRange[],
): readonly Operation[] {
  const { hiddenSize } = layerSettings.shape;
  let rows = 0;
  return tokens.map(({ first, count }) => {
    const x = activations.x.slice(first * hiddenSize, (first + count) * hiddenSize);
    const y = activations.h.slice(rows * hiddenSize, (rows + count) * hiddenSize);
    rows += count;
    return { kind: 'rms-norm', x, weight: weights.outputNorm, y, epsilon: layerSettings.normEpsilon };
  });
}
