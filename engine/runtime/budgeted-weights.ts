import type { Gguf, GgufTensor } from '../gguf/gguf.ts';
import type { Model } from '../model/model.ts';
import type { RunRecorder } from '../trace/run-recorder.ts';
import type { Rotations } from './rotations.ts';
import type { PassHooks } from './transformer.ts';
import { activationsBytes } from './transformer-bytes.ts';
import { loadWeights, type Weights, type WeightsSource } from './transformer-weights.ts';
import { pagesOf } from './weights/mapped-weights.ts';
import { type BudgetPlan, planBudget } from './weights/memory-budget.ts';
import { PROCESS_GROWTH_BYTES, processBytes } from './weights/process-counters.ts';
import { weightsPartOf } from './weights/weights-layout.ts';
import { createWeightsStream } from './weights/weights-stream.ts';

export interface BudgetedWeightsCase {
  readonly source: WeightsSource;
  readonly model: Model;
  readonly rotations: Rotations;
  readonly contextLength: number;
  /** Bytes of keys and values in memory. */
  readonly kvBytes: number;
  /** Memory limit of the process in bytes. */
  readonly budget: number;
  readonly recorder?: RunRecorder | undefined;
}

/** Weights within a memory budget, and the hooks that load them in time. */
export interface BudgetedWeights {
  readonly weights: Weights;
  readonly hooks: PassHooks;
}

/**
 * Keeps as much of a model's weights in memory as fits into a budget besides everything else that the process needs,
 * and streams the rest.
 * @throws InputError for a budget that is too small, and for kernels that don't map files
 */
export function budgetedWeights(options: BudgetedWeightsCase): BudgetedWeights {
  const { source, model, recorder } = options;
  const pages = pagesOf(source.kernels, source.file);
  const [output, layers] = matricesOf(source.gguf, model.layers, model.tiedEmbeddings);
  const plan = planOf(options, output, layers);
  const stream = createWeightsStream({ pages, fileBytes: source.file.size, plan, output, layers, recorder });
  const variants = ([0, 1] as const).map((variant) =>
    loadWeights({ ...source, place: (tensor) => stream.place(tensor, variant) }, model),
  ) as [Weights, Weights];
  return {
    weights: {
      ...variants[0],
      get layers() {
        return variants[stream.variant].layers;
      },
    },
    hooks: {
      before: (part) => stream.before(weightsPartOf(part)),
      after: ({ name }) => stream.after(weightsPartOf(name)),
    },
  };
}

function planOf(
  { budget, source, model, rotations, contextLength, kvBytes, recorder }: BudgetedWeightsCase,
  output: readonly GgufTensor[],
  layers: readonly (readonly GgufTensor[])[],
): BudgetPlan {
  const process = { what: 'Node.js and its heap', bytes: processBytes() + PROCESS_GROWTH_BYTES };
  recorder?.sample('Node.js and its heap (bytes)', performance.now() / 1000, process.bytes);
  const fixed = [
    process,
    { what: `KV cache of ${contextLength} tokens`, bytes: kvBytes },
    { what: 'activations', bytes: activationsBytes(model, rotations, contextLength) },
  ];
  return planBudget({ budget, fixed, output, layers, fileBytes: source.file.size });
}

/** The matrices by output and layer. Vectors are small and read when the model is loaded. */
function matricesOf(gguf: Gguf, layers: number, tied: boolean): [output: GgufTensor[], layers: GgufTensor[][]] {
  const matrices = gguf.tensors.filter(({ shape }) => shape.length > 1).sort((a, b) => a.offset - b.offset);
  const output = matrices.filter(({ name }) => name === (tied ? 'token_embd.weight' : 'output.weight'));
  const ofLayer = (layer: number): GgufTensor[] => matrices.filter(({ name }) => name.startsWith(`blk.${layer}.`));
  return [output, Array.from({ length: layers }, (_, layer) => ofLayer(layer))];
}
