import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import { type UniformShape, uniformShape } from '../../model/architecture.ts';
import type { LayerKind } from '../../model/layer-kind.ts';
import { countModel, type Model, modelTensors } from '../../model/model.ts';
import { poolPlan } from '../../runtime/kv/plan-pages.ts';
import { sliceShapes } from '../../runtime/kv/slice-shapes.ts';
import { type ContextCache, contextOf } from '../../runtime/pass/context-cache.ts';
import { createPasses, type Passes } from '../../runtime/pass/passes.ts';
import { createTransformer } from '../../runtime/texts/create-transformer.ts';
import { createLayerPages } from '../../runtime/texts/layer-pages.ts';
import { createSequences } from '../../runtime/texts/sequences.ts';
import type { LayerWeights } from '../../runtime/weights/transformer-weights.ts';
import { afterWeights } from './after-weights.ts';
import type { Bench } from './bench.ts';

/** Layers of two models, which separate the cost of a layer from the rest of a pass. */
export const DEPTHS = { shallow: 2, deep: 24 } as const;
export type Depth = keyof typeof DEPTHS;
/** Texts of the pass that tells what further texts cost apart from products. */
export const SEVERAL_TEXTS = 8;

/** Very small matrices, so that what is not a product dominates. */
const SHAPE: Omit<UniformShape, 'layers'> = {
  name: 'very small',
  architecture: 'llama',
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

/**
 * Measures the seconds of a token in a model of very small layers until its result is there: synchronisation of
 * threads, dispatch, small operations, for which no product accounts.
 */
export function smallPass(bench: Bench, depth: Depth): () => Promise<number> {
  const { kernels } = bench;
  const { model, passes } = smallModel(bench, depth, 1);
  const { contextLength } = SETTINGS;
  const cache = contextOf(kernels, model, { capacity: contextLength, type: 'F16' });
  const transformer = createTransformer({ model, settings: SETTINGS, contextLength, passes, cache });
  return afterWeights(bench, () => {
    transformer.rewind(0);
    transformer.evaluate([1]);
  });
}

/** Measures the seconds of a token of each of `texts` texts in that model, evaluated in one pass. */
export function smallBatch(bench: Bench, depth: Depth, texts: number): () => Promise<number> {
  const { kernels } = bench;
  const { model, passes } = smallModel(bench, depth, texts);
  const { contextLength } = SETTINGS;
  const shapes = sliceShapes(model, 'F16', { from: 0, to: model.layers });
  const plan = poolPlan({ shapes, pages: texts, pageTokens: contextLength });
  const place = { folder: '', ram: 0 };
  const stage = createLayerPages({ kernels, shape: model, type: 'F16', firstLayer: 0, plan, place });
  const sequences = createSequences({
    ...{ model, contextLength, mostTokens: texts, plan },
    stages: [stage],
    run: (work) => passes.run(work.map(({ caches, ...rest }) => ({ ...rest, cache: caches[0] as ContextCache }))),
  });
  const work = Array.from(
    { length: texts },
    () => ({ sequence: sequences.open(), tokens: [1], logits: 'last', multiplied: 'singly' }) as const,
  );
  return afterWeights(bench, async () => {
    // A token stays before it, so that none takes a new page.
    for (const { sequence } of work) sequence.rewind(Math.min(1, sequence.position));
    await sequences.evaluate(work);
  });
}

function smallModel(
  { kernels, weights }: Bench,
  depth: Depth,
  mostTokens: number,
): { readonly model: Model; readonly passes: Passes } {
  const shape = uniformShape({ ...SHAPE, layers: DEPTHS[depth] });
  const { hiddenSize: hidden, ffnSize: ffn, vocabularySize, headSize } = SHAPE;
  const matrix = (rows: number, columns: number): { matrix: Matrix } => ({
    matrix: kernels.matrix({ source: weights, type: 'F16', rows, columns }),
  });
  const norm = kernels.vector(new Float32Array(hidden).fill(1));
  const square = matrix(hidden, hidden);
  const layer: LayerWeights = {
    index: 0,
    kind: shape.kinds[0] as LayerKind,
    products: {
      ...{ attn_q: square, attn_k: square, attn_v: square, attn_output: square },
      ...{ ffn_gate: matrix(ffn, hidden), ffn_up: matrix(ffn, hidden), ffn_down: matrix(hidden, ffn) },
    },
    vectors: { attn_norm: norm, ffn_norm: norm },
  };
  const outer = matrix(vocabularySize, hidden);
  const model = countModel(shape, 'F16', modelTensors(shape, 'F16'));
  const passes = createPasses({
    model,
    settings: SETTINGS,
    rotations: {
      byName: new Map([['global', { dimensions: headSize, base: SETTINGS.ropeBase, pairs: 'adjacent' }]]),
    },
    weights: {
      embedding: outer.matrix,
      layers: Array.from({ length: shape.layers }, () => layer),
      outputNorm: norm,
      output: outer,
    },
    kernels,
    mostTokens,
    hooks: [],
  });
  return { model, passes };
}
