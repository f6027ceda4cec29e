import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { chipDevice } from '../../engine/hardware/chip.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import type { Synchronisation } from '../../engine/plan/tensor-partition.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import { loadPartitionedTransformer } from '../../engine/runtime/partitioned-transformer.ts';
import { CHIP_SYSTEM_NAMES, type ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';
import { probeControlThread, probeHandOver, probeSleep } from './probes.ts';
import { type MeasuredChip, slowedChip } from './slowed-chip.ts';
import { openStandIn } from './stand-in.ts';

export interface NpuRunOptions {
  readonly file: string;
  /** Kernels of the control thread, which has the GPU's part. */
  readonly kernels: KernelOptions;
  /** The cluster whose head is the chip that is slowed. */
  readonly cluster: Cluster;
  readonly lengths: readonly number[];
  readonly outputTokens: number;
  /** Runs of each cell that count; one more comes before them. */
  readonly repeats: number;
  readonly progress: (steps: number) => Progress;
}

/** Seconds of a prompt, or of a token of the ones after it. */
export interface Answers {
  readonly predicted: number;
  readonly simulated: number;
  readonly measured: Sample;
}

/** A system of the paper with a prompt of some length. */
export interface NpuCell {
  readonly system: ChipSystemName;
  readonly synchronisation: Synchronisation;
  /** Tokens of the prompt. */
  readonly tokens: number;
  readonly prefill: Answers;
  readonly decode: Answers;
}

export interface NpuRun {
  readonly model: Model;
  readonly measured: MeasuredChip;
  readonly cells: readonly NpuCell[];
}

/** The thread of the NPU computes faster than the NPU that it stands for. */
const NPU_KERNELS: KernelOptions = { implementation: 'auto', threads: 1 };

/** What is run: every system with fast synchronisation, and Hetero-tensor with the naive one. */
const RUNS: readonly (readonly [ChipSystemName, Synchronisation])[] = [
  ...CHIP_SYSTEM_NAMES.map((system) => [system, 'fast'] as const),
  ['hetero-tensor', 'naive'],
];

/** Measures this machine in the part of a chip, plans every system, and predicts, simulates and runs each. */
export async function runNpu(asked: NpuRunOptions): Promise<NpuRun> {
  const { file, lengths, outputTokens, repeats } = asked;
  const model = modelFromGguf(withFile(file, readGguf));
  const main = openKernels(asked.kernels);
  const bar = asked.progress(1 + RUNS.length * lengths.length);
  try {
    const chip = chipDevice(asked.cluster.devices[0] as Device);
    const rates = { ...probeControlThread(main, model), oversleep: probeSleep() };
    const free = slowedChip(chip, { ...rates, handOver: { fast: 0, naive: 0 } });
    const measured = { ...rates, handOver: await probeHandOver({ file, model, kernels: NPU_KERNELS }, free) };
    const device = slowedChip(chip, measured);
    const cluster = createCluster({ ...asked.cluster, devices: [device] });
    bar.step('the machine');
    const cells: NpuCell[] = [];
    for (const tokens of lengths) {
      const workload = createWorkload({ promptTokens: tokens, outputTokens, context: tokens + outputTokens });
      for (const [system, synchronisation] of RUNS) {
        bar.step(`${system}, ${synchronisation}, a prompt of ${tokens}`);
        const scheduled = tensorPartition({ belief: cluster, model, workload }, { system, synchronisation });
        if (scheduled.plan === undefined) throw new InputError(system, 'message' in scheduled ? scheduled.message : '');
        const plan = scheduled.plan as ChipPlan;
        const times = await measure({ file, main, model, plan, device, tokens, outputTokens, repeats });
        const answers = answersOf(plan, cluster, model, workload);
        const both = (phase: 'prefill' | 'decode'): Answers => ({ ...answers[phase], measured: times[phase] });
        cells.push({ system, synchronisation, tokens, prefill: both('prefill'), decode: both('decode') });
      }
    }
    return { model, measured, cells };
  } finally {
    bar.stop();
    main.close();
  }
}

function answersOf(plan: ChipPlan, cluster: Cluster, model: Model, workload: Workload) {
  const { promptTokens, outputTokens } = workload;
  const predicted = predictChip(chipCase(plan, cluster, model), promptTokens + outputTokens / 2);
  const { firstTokenSeconds = Number.NaN, tokenSeconds = Number.NaN } = metrics(
    simulate({ cluster, model, plan, workload }).trace,
  );
  return {
    prefill: { predicted: predicted.prefill.seconds, simulated: firstTokenSeconds },
    decode: { predicted: predicted.decode.seconds, simulated: tokenSeconds },
  };
}

interface CellToMeasure {
  readonly file: string;
  readonly main: ReturnType<typeof openKernels>;
  readonly model: Model;
  readonly plan: ChipPlan;
  readonly device: ReturnType<typeof chipDevice>;
  readonly tokens: number;
  readonly outputTokens: number;
  readonly repeats: number;
}

async function measure(cell: CellToMeasure): Promise<Readonly<Record<'prefill' | 'decode', Sample>>> {
  const { file, main, model, plan, device, tokens, outputTokens, repeats } = cell;
  const { partition } = plan.stages[0];
  const times = { prefill: [] as number[], decode: [] as number[] };
  const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
  const prompt = Array.from({ length: tokens }, (_, index) => token(index));
  for (let repeat = 0; repeat <= repeats; repeat++) {
    // A thread of its own for each run: graphs that are generated online are generated in each.
    const second = await openStandIn({ file, model, device, kernels: NPU_KERNELS, partition });
    const context = tokens + outputTokens;
    const transformer = loadPartitionedTransformer(file, { main, second, partition, context });
    try {
      times.prefill.push(await secondsOf(() => transformer.evaluate(prompt)));
      const decoding = async (): Promise<void> => {
        for (let index = 0; index < outputTokens; index++) await transformer.evaluate([token(tokens + index)]);
      };
      times.decode.push((await secondsOf(decoding)) / outputTokens);
    } finally {
      transformer.close();
      await second.close();
    }
  }
  return { prefill: sampleOf(times.prefill.slice(1)), decode: sampleOf(times.decode.slice(1)) };
}

async function secondsOf(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return (performance.now() - start) / 1000;
}
