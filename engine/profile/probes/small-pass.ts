import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { Shape } from '../../model/architecture.ts';
import { countModel, type Model, modelTensors } from '../../model/model.ts';
import { contextOf } from '../../runtime/context-cache.ts';
import { createTransformer } from '../../runtime/create-transformer.ts';
import { poolPlan } from '../../runtime/kv/plan-pages.ts';
import { createLayerPages } from '../../runtime/layer-pages.ts';
import { createPasses, type Passes } from '../../runtime/passes.ts';
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
  const { kernels } = bench;
  const { model, passes } = smallModel(bench, 1);
  const { contextLength } = SETTINGS;
  const cache = contextOf(kernels, model, { capacity: contextLength, type: 'F16' });
  const transformer = createTransformer({ model, settings: SETTINGS, contextLength, passes, cache });
  return untilResult(bench, () => {
    transformer.rewind(0);
    transformer.evaluate([1]);
  });
}

/** Measures the seconds of a token of each of `texts` texts in that model, evaluated in one pass. */
export function smallBatch(bench: Bench, texts: number): () => Promise<number> {
  const { kernels } = bench;
  const { model, passes } = smallModel(bench, texts);
  const { contextLength } = SETTINGS;
  const plan = poolPlan({ model, pages: texts, pageTokens: contextLength, type: 'F16', layers: model.layers });
  const place = { folder: '', ram: 0 };
  const stage = createLayerPages({ kernels, shape: model, type: 'F16', firstLayer: 0, plan, place });
  const caches = Array.from({ length: texts }, () => stage.open().cache);
  return untilResult(bench, () => {
    for (const cache of caches) cache.rewind(0);
    passes.run(
      caches.map((cache) => ({ cache, position: 0, tokens: [1], logits: 'last', multiplied: 'singly' }) as const),
    );
  });
}

function untilResult({ kernels, clock }: Bench, run: () => void): () => Promise<number> {
  const last = kernels.vector(1);
  return secondsPerUnit(clock, (times) => async () => {
    for (let time = 0; time < times; time++) {
      run();
      const reading = kernels.read(last);
      if (reading !== undefined) await reading;
    }
  });
}

function smallModel(
  { kernels, weights }: Bench,
  mostTokens: number,
): { readonly model: Model; readonly passes: Passes } {
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
    mostTokens,
    hooks: [],
  });
  return { model, passes };
}
