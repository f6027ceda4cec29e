import type { Operation } from '../kernels/operation.ts';
import type { Vector } from '../kernels/vector.ts';
import type { Activations } from './activations.ts';
import type { LayerSettings } from './layer-operations.ts';
import type { LayerBatches } from './paged-layer.ts';
import type { PartTime } from './transformer.ts';
import type { LayerWeights, OutputWeights, Weights } from './transformer-weights.ts';

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
  /** [rows][vocabulary]: the logits of as many of the last tokens, from none to all. */
  readonly logits: Vector;
  readonly tokens: readonly number[];
}

type OutputPass = Pick<ForwardPass, 'layerSettings' | 'logits'> & {
  readonly weights: OutputWeights;
  readonly activations: Pick<Activations, 'tokens' | 'x' | 'h'>;
};

/** A forward pass: x = embedding of the tokens; every layer adds to x; logits = W_output · norm(x). */
export function forward(pass: ForwardPass): PassPart[] {
  const { weights, activations, tokens, layerBatches } = pass;
  const embed: Operation = { kind: 'embed', table: weights.embedding, tokens, y: activations.x };
  const layers = weights.layers.map(
    (layer, index): PassPart => ({ name: `layer ${index}`, ...layerBatches(layer, index) }),
  );
  return [{ name: 'embedding', operations: [embed] }, ...layers, ...outputPart(pass)];
}

/** The output layer for as many of the last tokens as there are rows of logits; empty without logits. */
export function outputPart({ layerSettings, weights, activations, logits }: OutputPass): PassPart[] {
  const { hiddenSize, vocabularySize } = layerSettings.shape;
  const rows = logits.values.length / vocabularySize;
  if (rows === 0) return [];
  const lastRows = (vector: Vector): Vector =>
    vector.slice((activations.tokens - rows) * hiddenSize, activations.tokens * hiddenSize);
  const [x, h] = [lastRows(activations.x), lastRows(activations.h)]; // [rows][hidden]
  const operations: Operation[] = [
    { kind: 'rms-norm', x, weight: weights.outputNorm, y: h, epsilon: layerSettings.normEpsilon },
    { kind: 'multiply', ...weights.output, x: h, y: logits },
  ];
  return [{ name: 'output', operations }];
}
