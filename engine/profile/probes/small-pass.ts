import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { Shape } from '../../model/architecture.ts';
import { countModel, type Model, modelTensors } from '../../model/model.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { contextOf } from '../../runtime/context-cache.ts';
import { createTransformer } from '../../runtime/create-transformer.ts';
import { poolPlan } from '../../runtime/kv/plan-pages.ts';
import { createLayerPages } from '../../runtime/layer-pages.ts';
import { createPasses, type Passes } from '../../runtime/passes.ts';
import type { LayerWeights } from '../../runtime/transformer-weights.ts';
import { quietSample, type TimedRun, timedRun } from '../quiet-runs.ts';
import { type Bench, isCpu, secondsPerUnit } from './bench.ts';

/** Layers of two models, which tell what a layer costs from what a pass costs besides. */
export const DEPTHS = { shallow: 2, deep: 24 } as const;
export type Depth = keyof typeof DEPTHS;
/** Texts of the pass that tells what further texts cost beside products. */
export const SEVERAL_TEXTS = 8;

/** Very small matrices, so that what is not a product dominates. */
const SHAPE: Omit<Shape, 'layers'> = {
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

/** Weights that are read before each pass: more than caches keep of a pass that comes again. */
const READ = { matrices: 12, rows: 1024, columns: 2048 };
const RUNS = 40;

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
  return untilResult(bench, () => {
    transformer.rewind(0);
    transformer.evaluate([1]);
  });
}

/** Measures the seconds of a token of each of `texts` texts in that model, evaluated in one pass. */
export function smallBatch(bench: Bench, depth: Depth, texts: number): () => Promise<number> {
  const { kernels } = bench;
  const { model, passes } = smallModel(bench, depth, texts);
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

/**
 * Seconds of a pass whose code and data caches have lost since the last one, as the weights of real layers make them: on
 * a CPU it takes up to four times as long then. Weights are read before each pass, which is timed alone.
 */
function untilResult(bench: Bench, run: () => void): () => Promise<number> {
  const { kernels, clock } = bench;
  if (isCpu(bench)) {
    const read = weightsReading(bench);
    return async () => {
      const runs: TimedRun[] = [];
      while (runs.length < RUNS) {
        read();
        runs.push(await timedRun(run));
      }
      return quietSample(runs).median;
    };
  }
  const last = kernels.vector(1);
  return secondsPerUnit(clock, (times) => async () => {
    for (let time = 0; time < times; time++) {
      run();
      await kernels.read(last);
    }
  });
}

/** Products with READ.matrices matrices that follow one another through the file. */
function weightsReading({ kernels, weights, weightBytes }: Bench): () => void {
  const { rows, columns } = READ;
  const bytes = rows * quantizedBytes(columns, 'F16');
  const matrices = Array.from({ length: Math.floor(weightBytes / bytes) }, (_, index) =>
    kernels.matrix({ source: weights, offset: index * bytes, type: 'F16', rows, columns }),
  );
  const [x, y] = [kernels.vector(columns), kernels.vector(rows)];
  let next = 0;
  const product = (): Operation => ({
    kind: 'multiply',
    matrix: matrices[next++ % matrices.length] as Matrix,
    ...{ x, y },
  });
  return () => kernels.run(Array.from({ length: READ.matrices }, product));
}

function smallModel(
  { kernels, weights }: Bench,
  depth: Depth,
  mostTokens: number,
): { readonly model: Model; readonly passes: Passes } {
  const shape: Shape = { ...SHAPE, layers: DEPTHS[depth] };
  const { hiddenSize: hidden, ffnSize: ffn, vocabularySize, headSize } = shape;
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
  const model = countModel(shape, 'F16', modelTensors(shape, 'F16'));
  const passes = createPasses({
    model,
    settings: SETTINGS,
    rotary: { dimensions: headSize, base: SETTINGS.ropeBase, factors: Array(headSize / 2).fill(1), pairs: 'adjacent' },
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
