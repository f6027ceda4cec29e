import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { Shape } from '../../model/architecture.ts';
import { countModel, modelTensors } from '../../model/model.ts';
import { contextOf } from '../../runtime/context-cache.ts';
import { createTransformer } from '../../runtime/create-transformer.ts';
import { createPasses } from '../../runtime/passes.ts';
import type { LayerWeights } from '../../runtime/transformer-weights.ts';
import { type Bench, secondsPerUnit } from './bench.ts';

/**
 * A model with as many layers as a small one but very small matrices, so that the constant cost of a layer dominates.
 */
const SHAPE: Shape = {
  name: 'very small',
  architecture: 'llama',
  layers: 24,
  hiddenSize: 64,
  ffnSize: 128,
  heads: 1,
  kvHeads: 1,
  headSize: 64,
  vocabularySize: 64,
  tiedEmbeddings: true,
  qkvBias: false,
};
const SETTINGS: TransformerSettings = {
  contextLength: 64,
  normEpsilon: 1e-5,
  ropeBase: 10_000,
  ropeDimensions: SHAPE.headSize,
  ropeScaling: 'none',
};

/** Layers of the pass that `smallPass` measures. */
export const SMALL_LAYERS = SHAPE.layers;

/**
 * Measures the seconds of a token in a model of SMALL_LAYERS layers until its result is there: synchronisation of
 * threads, dispatch, small operations, for which no product accounts.
 */
export function smallPass(bench: Bench): () => Promise<number> {
  const { kernels, weights, clock } = bench;
  const { hiddenSize: hidden, ffnSize: ffn, vocabularySize, headSize } = SHAPE;
  const matrix = (rows: number, columns: number): { matrix: Matrix } => ({
    matrix: kernels.matrix({ source: weights, type: 'F16', rows, columns }),
  });
  const norm = kernels.vector(new Float32Array(hidden).fill(1));
  const layer: LayerWeights = {
    attentionNorm: norm,
    query: matrix(hidden, hidden),
    key: matrix(hidden, hidden),
    value: matrix(hidden, hidden),
    headNorms: undefined,
    attentionOutput: matrix(hidden, hidden),
    feedForwardNorm: norm,
    gate: matrix(ffn, hidden),
    up: matrix(ffn, hidden),
    down: matrix(hidden, ffn),
  };
  const outer = matrix(vocabularySize, hidden);
  const { contextLength } = SETTINGS;
  const model = countModel(SHAPE, 'F16', modelTensors(SHAPE, 'F16'));
  const passes = createPasses({
    model,
    settings: SETTINGS,
    rotary: { dimensions: headSize, base: SETTINGS.ropeBase, factors: Array(headSize / 2).fill(1), pairs: 'adjacent' },
    weights: {
      embedding: outer.matrix,
      layers: Array.from({ length: SHAPE.layers }, () => layer),
      outputNorm: norm,
      output: outer,
    },
    kernels,
    mostTokens: 1,
    hooks: [],
  });
  const cache = contextOf(kernels, model, { capacity: contextLength, type: 'F16' });
  const transformer = createTransformer({ model, settings: SETTINGS, contextLength, passes, cache });
  const last = kernels.vector(1);
  return secondsPerUnit(clock, (tokens) => async () => {
    for (let token = 0; token < tokens; token++) {
      transformer.rewind(0);
      transformer.evaluate([1]);
      const reading = kernels.read(last);
      if (reading !== undefined) await reading;
    }
  });
}
