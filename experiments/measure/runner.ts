import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { clockFor, type ProcessorClock, type Timing } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes, type ProcessorProbes } from '../../engine/profile/processor-probes.ts';
import { sampleOf } from '../../engine/profile/sample.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { Transformer } from '../../engine/runtime/pass/transformer.ts';
import type { Cell, MeasuredCell } from './cell.ts';

/** Measurements with one number of threads. */
export interface Runner {
  readonly threads: number;
  readonly instructionSet: string;
  /** There are none without a file of weights for them. */
  readonly probes: ProcessorProbes | undefined;
  readonly cells: readonly RunningCell[];
  close(): void;
}

export interface RunningCell extends Cell {
  /** Runs the model once: the prompt, and the tokens after it. */
  readonly run: () => Promise<void>;
  /** All runs but the first, which brought the weights into memory. */
  readonly measured: () => MeasuredCell;
}

export interface RunnerParts {
  readonly threads: number;
  readonly models: readonly string[];
  readonly contexts: readonly number[];
  readonly tokens: number;
  readonly weightsFile: string | undefined;
}

/** Loads models for one number of threads, and probes of the formats that they use. */
export function createRunner({ threads, models, contexts, tokens, weightsFile }: RunnerParts): Runner {
  const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  const longest = Math.max(...contexts) + tokens;
  const loaded = models.map((path) => loadTransformer(path, { kernels, context: longest }));
  return {
    threads,
    instructionSet: kernels.instructionSet,
    probes: weightsFile === undefined ? undefined : openProbes(kernels, clock, weightsFile, loaded),
    cells: loaded.flatMap((transformer) =>
      contexts.map((promptTokens) => runningCell(transformer, clock, { threads, promptTokens, tokens })),
    ),
    close: kernels.close,
  };
}

function openProbes(
  kernels: Kernels,
  clock: ProcessorClock,
  weightsFile: string,
  loaded: readonly Transformer[],
): ProcessorProbes {
  const used = new Set<Quantization>(loaded.flatMap(({ model }) => matrixFormats(model.tensors)));
  // A cluster file states a rate for all other formats: that of F16.
  const weights = kernels.mapFile(weightsFile);
  return createProcessorProbes({ kernels, clock, weights, weightBytes: weights.size }, [...used.add('F16')]);
}

function matrixFormats(tensors: Transformer['model']['tensors']): Quantization[] {
  return tensors.filter(({ rows }) => rows > 1).map(({ quantization }) => quantization);
}

function runningCell(
  transformer: Transformer,
  { time }: ProcessorClock,
  { threads, promptTokens, tokens }: { threads: number; promptTokens: number; tokens: number },
): RunningCell {
  const { model } = transformer;
  const prefills: Timing[] = [];
  const decodes: Timing[] = [];
  const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
  const prompt = Array.from({ length: promptTokens }, (_, index) => token(index));
  return {
    model,
    threads,
    promptTokens,
    async run() {
      transformer.rewind(0);
      prefills.push(
        await time(() => {
          transformer.evaluate(prompt);
        }),
      );
      const decode = await time(() => {
        for (let index = 0; index < tokens; index++) transformer.evaluate([token(promptTokens + index)]);
      });
      decodes.push({ wall: decode.wall / tokens, own: decode.own / tokens });
    },
    measured() {
      const samples = (clock: keyof Timing) => ({
        ttft: sampleOf(prefills.slice(1).map((timing) => timing[clock])),
        tpot: sampleOf(decodes.slice(1).map((timing) => timing[clock])),
      });
      return { own: samples('own'), wall: samples('wall') };
    },
  };
}
