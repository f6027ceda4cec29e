import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { ControlRates } from '../../engine/profile/control-thread.ts';
import { createMeasuredTimes, type MeasuredPart } from '../../engine/profile/measured-times.ts';
import { FEWEST_SAMPLES, type LearnedLatency, learnLatency } from '../../engine/profile/predicted/learn-latency.ts';
import { createPredictedTimes } from '../../engine/profile/predicted/predicted-times.ts';

/**
 * Source of the solver's times of parts (HeteroLLM 4.3): real execution; or a tree or a network that learned from
 * some of the parts; or the tree for the second processor, and fixed rates for the first.
 */
export const TIMES = ['real', 'tree', 'network', 'fixed-rate'] as const;
export type TimesMode = (typeof TIMES)[number];

/** Every other part is learned from. */
const LEARNED_SHARE = 0.5;
const EPOCHS = 200;

export interface ModesCase {
  readonly parts: readonly MeasuredPart[];
  readonly rates: ControlRates;
  readonly seed: number;
}

/** The times of every mode; without the learned ones where too few parts were measured to learn from. */
export async function timesByMode(modes: ModesCase): Promise<ReadonlyMap<TimesMode, PartTimes>> {
  const { parts, rates, seed } = modes;
  const real = createMeasuredTimes(parts);
  const [gpu, npu] = [await learned('gpu', modes), await learned('npu', modes)];
  if (gpu === undefined || npu === undefined) return new Map([['real', real]]);
  const by = (kind: 'tree' | 'network'): PartTimes =>
    createPredictedTimes({
      gpu: { model: gpu.models[kind], range: gpu.range },
      npu: { model: npu.models[kind], range: npu.range },
    });
  const tree = by('tree');
  return new Map<TimesMode, PartTimes>([
    ['real', real],
    ['tree', tree],
    ['network', by('network')],
    ['fixed-rate', { gpu: fixedRate(rates), npu: tree.npu }],
  ]);

  function learned(processor: 'gpu' | 'npu', { parts: all }: ModesCase): Promise<LearnedLatency> | undefined {
    const random = randomStream(seed, `${processor} parts`);
    const own = all.filter((part) => part.processor === processor);
    const samples = own.filter(() => random.next() < LEARNED_SHARE);
    if (samples.length < FEWEST_SAMPLES) return undefined;
    const shapes = samples.map(({ rows, columns, tokens, seconds }) => ({ rows, columns, tokens, seconds }));
    return learnLatency(shapes, { seed, epochs: EPOCHS });
  }
}

/** A fixed FLOP rate for prompts, as HeteroLLM estimates its GPU (4.3), and a fixed bandwidth for tokens. */
export function fixedRate({ flops, bandwidth }: ControlRates): PartTimes['gpu'] {
  return (operator, rows, tokens) =>
    tokens === 1 ? (operator.bytes * rows) / operator.rows / bandwidth : (2 * rows * operator.columns * tokens) / flops;
}
