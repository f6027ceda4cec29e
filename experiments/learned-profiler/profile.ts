import type { PartShape } from '../../engine/cost/chip/part-times.ts';
import { type ChipDevice, graphLengths } from '../../engine/hardware/chip.ts';
import type { Model } from '../../engine/model/model.ts';
import { LAYER_OPERATORS, OPERATORS, type Operator, operatorShapes } from '../../engine/model/operators.ts';
import type { LatencySample } from '../../engine/profile/predicted/latency-model.ts';
import { type LearnedLatency, learnLatency } from '../../engine/profile/predicted/learn-latency.ts';
import { type ShapeSpace, sampleShapes } from '../../engine/profile/predicted/sample-shapes.ts';
import { ROW_ALIGNMENT } from '../../engine/schedule/tensor-partition/best-cut.ts';
import type { ProfilePart } from '../../simulator/profile-part.ts';

/** The learned times of both processors of a chip. */
export type LearnedChip = Readonly<Record<'gpu' | 'npu', LearnedLatency>>;

/** The operators that are sampled; without the output layer, its number of rows lies far outside the samples. */
export type Coverage = 'all operators' | 'layers only';

/** The longest prompt that the GPU is sampled for. */
const MOST_TOKENS = 1024;

export interface LearnCase {
  readonly device: ChipDevice;
  readonly model: Model;
  readonly run: ProfilePart;
  readonly samples: number;
  readonly seed: number;
  readonly epochs: number;
  readonly coverage: Coverage;
  readonly step: (text: string) => void;
}

/** Shapes that a solver may ask for: the NPU's are of its static graphs, and of one token. */
export function shapeSpaces(device: ChipDevice, model: Model, coverage: Coverage): Record<'gpu' | 'npu', ShapeSpace> {
  const shapes = operatorShapes(model);
  const covered = (coverage === 'all operators' ? OPERATORS : LAYER_OPERATORS).map((name) => shapes[name]);
  const common = {
    rows: [ROW_ALIGNMENT, Math.max(...covered.map(({ rows }) => rows))],
    rowAlignment: ROW_ALIGNMENT,
    columns: [...new Set(covered.map(({ columns }) => columns))],
  } as const;
  return {
    gpu: { ...common, tokens: { from: 1, to: MOST_TOKENS } },
    npu: { ...common, tokens: { of: [1, ...graphLengths(device.soc.npu)] } },
  };
}

/** Runs the given number of sampled shapes on each processor and learns from their times. */
export async function learnChip({
  device,
  model,
  run,
  samples,
  seed,
  epochs,
  coverage,
  step,
}: LearnCase): Promise<LearnedChip> {
  const spaces = shapeSpaces(device, model, coverage);
  const learn = (processor: 'gpu' | 'npu'): Promise<LearnedLatency> => {
    step(`${processor.toUpperCase()}: ${samples} samples, ${coverage}`);
    const shapes = sampleShapes(spaces[processor], samples, seed, `${processor} shapes`);
    const timed = shapes.map((shape): LatencySample => ({ ...shape, seconds: timeOf(run, processor, shape) }));
    return learnLatency(timed, { seed, epochs });
  };
  return { gpu: await learn('gpu'), npu: await learn('npu') };
}

/** Runs a product with W4A16 weights: 4 bits a value and a scale of 2 bytes a row. */
export function timeOf(run: ProfilePart, processor: 'gpu' | 'npu', { rows, columns, tokens }: PartShape): number {
  const operator: Operator = { name: 'qkv', rows, columns, bytes: (rows * columns) / 2 + 2 * rows };
  return run(processor, operator, rows, tokens);
}
