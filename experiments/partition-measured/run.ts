import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { Model } from '../../engine/model/model.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import { loadPartitionedTransformer } from '../../engine/runtime/partitioned-transformer.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { cutsTokens, partitionBy, STRATEGIES, type Strategy } from './cuts.ts';
import { measuredTimes, partsOf } from './part-times.ts';

export interface PartitionsToRun {
  readonly file: string;
  readonly kernels: KernelOptions;
  /** The GPU's name; `undefined`: the fastest. */
  readonly device: string | undefined;
  /** Lengths of prompts. */
  readonly lengths: readonly number[];
  readonly outputTokens: number;
  /** Runs of each cell that count; one more comes before them. */
  readonly repeats: number;
  readonly progress: (steps: number) => Progress;
}

export const ALL_STRATEGIES = Object.keys(STRATEGIES) as Strategy[];

/** A strategy with a prompt of some length, or decoding. */
export interface PartitionCell {
  readonly strategy: Strategy;
  readonly phase: 'decode' | 'prefill';
  /** Tokens of the prompt; 1 in decoding. */
  readonly tokens: number;
  /** Seconds of a token or a prompt: products by the times of their parts, and everything else as measured by itself. */
  readonly predicted: number;
  readonly measured: Sample;
}

export interface PartitionsRun {
  readonly model: Model;
  readonly cpu: string;
  readonly gpu: string;
  readonly cells: readonly PartitionCell[];
}

/** Measures parts, chooses cuts by them, and runs every strategy in turn, repeatedly. */
export async function runPartitions(asked: PartitionsToRun): Promise<PartitionsRun> {
  const { file, lengths, outputTokens, repeats } = asked;
  const model = modelFromGguf(withFile(file, readGguf));
  const operators = modelOperators(model);
  const format = model.tensors.find(({ role }) => role === 'ffn_down')?.quantization as Quantization;
  const main = openKernels(asked.kernels);
  const gpu = await openGpuKernels({ adapter: asked.device });
  try {
    const parts = { main, second: gpu.kernels, operators, lengths, format };
    const runs = ALL_STRATEGIES.length * lengths.length;
    const bar = asked.progress(partsOf(parts).length + (repeats + 1) * runs);
    const times = await measuredTimes({ ...parts, onPart: bar.step });
    const common = { main, second: gpu.kernels, context: Math.max(...lengths) + outputTokens } as const;
    const loaded = lengths.flatMap((tokens) =>
      ALL_STRATEGIES.map((strategy) => {
        const chosen = partitionBy(strategy, model, operators, tokens, times);
        const transformer = loadPartitionedTransformer(file, { ...common, partition: chosen.partition });
        return { strategy, tokens, chosen, transformer, prefills: [] as number[], decodes: [] as number[] };
      }),
    );
    const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
    for (let repeat = 0; repeat <= repeats; repeat++) {
      for (const { strategy, tokens, transformer, prefills, decodes } of loaded) {
        bar.step(`${repeat === 0 ? 'first run' : `${repeat} of ${repeats}`}: ${strategy}, ${tokens} tokens`);
        transformer.rewind(0);
        const prompt = Array.from({ length: tokens }, (_, index) => token(index));
        prefills.push(await secondsOf(() => transformer.evaluate(prompt)));
        const decoding = async (): Promise<void> => {
          for (let index = 0; index < outputTokens; index++) await transformer.evaluate([token(tokens + index)]);
        };
        decodes.push((await secondsOf(decoding)) / outputTokens);
      }
    }
    // What isn't a product is the same under every strategy: on the CPU alone, what its products leave.
    const cells = lengths.flatMap((tokens) => {
      const own = loaded.filter((one) => one.tokens === tokens);
      const alone = own.find(({ strategy }) => strategy === 'CPU alone');
      return own.flatMap(({ strategy, chosen, prefills, decodes }): PartitionCell[] => {
        const cell = (
          phase: PartitionCell['phase'],
          seconds: readonly number[],
          base: readonly number[],
        ): PartitionCell => {
          const measured = sampleOf(seconds.slice(1));
          const others = Math.max(0, sampleOf(base.slice(1)).median - (alone?.chosen[phase] ?? 0));
          return {
            strategy,
            phase,
            tokens: phase === 'decode' ? 1 : tokens,
            predicted: chosen[phase] + others,
            measured,
          };
        };
        const ofPrompt = cell('prefill', prefills, alone?.prefills ?? prefills);
        return tokens === lengths[0] && cutsTokens(strategy)
          ? [cell('decode', decodes, alone?.decodes ?? decodes), ofPrompt]
          : [ofPrompt];
      });
    });
    for (const { transformer } of loaded) transformer.close();
    return {
      model,
      cpu: `${main.name}, ${main.threads === 1 ? '1 thread' : `${main.threads} threads`}`,
      gpu: gpu.adapter,
      cells,
    };
  } finally {
    main.close();
    gpu.kernels.close();
  }
}

async function secondsOf(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return (performance.now() - start) / 1000;
}
