import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { chipDevice } from '../../engine/hardware/chip.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { KernelOptions } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import type { Synchronisation } from '../../engine/plan/tensor-partition.ts';
import { quietSample } from '../../engine/profile/quiet-runs.ts';
import type { Sample } from '../../engine/profile/sample.ts';
import { CHIP_SYSTEM_NAMES, type ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';
import { asMeasured, type MeasuredChip, slowedChip } from '../measure/slowed-chip.ts';
import { type CellToOpen, type OpenCell, openCell } from './cell.ts';
import { createProbes } from './probes.ts';
import { realTimes } from './real-execution.ts';

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

/** How the solver knows what parts take: by the chip's closed forms, or by running them (HeteroLLM 4.3). */
export type SolverMode = 'prediction' | 'real execution';

/** A system of the paper with a prompt of some length. */
export interface NpuCell {
  readonly system: ChipSystemName;
  readonly mode: SolverMode;
  readonly synchronisation: Synchronisation;
  /** Tokens of the prompt. */
  readonly tokens: number;
  readonly prefill: Answers;
  readonly decode: Answers;
}

/** Extra time of the choice by prediction over that by real execution, by the times of parts that were run; shares. */
export interface Regret {
  readonly tokens: number;
  readonly prefill: number;
  readonly decode: number;
}

export interface NpuRun {
  readonly model: Model;
  readonly measured: MeasuredChip;
  readonly cells: readonly NpuCell[];
  readonly regrets: readonly Regret[];
}

/** The thread of the NPU computes faster than the NPU that it stands for. */
const NPU_KERNELS: KernelOptions = { implementation: 'auto', threads: 1 };

/** Runs: every system with fast synchronisation, and Hetero-tensor with the naive one. */
const RUNS: readonly (readonly [ChipSystemName, Synchronisation])[] = [
  ...CHIP_SYSTEM_NAMES.map((system) => [system, 'fast'] as const),
  ['hetero-tensor', 'naive'],
];

/** The system whose solver also chooses by real execution. */
const EXECUTED = 'hetero-tensor';

/** A system that is ready to run, with the times of parts by which it was planned; `undefined`: closed forms. */
interface PlannedCell extends OpenCell {
  readonly partTimes: PartTimes | undefined;
}

/**
 * Measures this machine in the part of a chip, plans every system for that chip, runs all of them in turn, with the
 * probes before each turn, and predicts and simulates them by the medians of the probes.
 */
export async function runNpu(asked: NpuRunOptions): Promise<NpuRun> {
  const { file, lengths, outputTokens, repeats } = asked;
  const model = modelFromGguf(withFile(file, readGguf));
  const chip = chipDevice(asked.cluster.devices[0] as Device);
  const bar = asked.progress(repeats + 2 + lengths.length);
  const probes = createProbes({ file, model, chip, kernels: asked.kernels, npuKernels: NPU_KERNELS });
  const cells: PlannedCell[] = [];
  const regrets: Regret[] = [];
  try {
    bar.step('the machine');
    const first = await probes.measure();
    const paced = slowedChip(chip, first);
    const planned = createCluster({ ...asked.cluster, devices: [paced] });
    const open = { file, model, kernels: asked.kernels, npuKernels: NPU_KERNELS, device: paced };
    for (const tokens of lengths) {
      const workload = createWorkload({ promptTokens: tokens, outputTokens, context: tokens + outputTokens });
      const solve = (system: ChipSystemName, synchronisation: Synchronisation, times?: PartTimes): ChipPlan => {
        const options = { system, synchronisation, ...(times && { times }) };
        const { plan, ...found } = tensorPartition({ belief: planned, model, workload }, options);
        if (plan === undefined) throw new InputError(system, 'message' in found ? found.message : '');
        return plan as ChipPlan;
      };
      const add = async (cell: Pick<CellToOpen, 'system' | 'plan'>, times?: PartTimes): Promise<void> => {
        cells.push({ ...(await openCell({ ...open, workload, ...cell })), partTimes: times });
      };
      for (const [system, synchronisation] of RUNS) await add({ system, plan: solve(system, synchronisation) });
      bar.step(`the parts of ${tokens} tokens`);
      const predicted = solve(EXECUTED, 'fast');
      const secondsOf = (plan: ChipPlan, times: PartTimes) => {
        const { prefill, decode } = predictChip(
          { ...chipCase(plan, planned, model), times },
          tokens + outputTokens / 2,
        );
        return { prefill: prefill.seconds, decode: decode.seconds };
      };
      const ask = (times: PartTimes): void => {
        for (const plan of [solve(EXECUTED, 'fast', times), predicted]) secondsOf(plan, times);
      };
      const times = await realTimes({ ...open, promptTokens: tokens, handOver: first.handOver.fast, ask });
      const executed = solve(EXECUTED, 'fast', times);
      await add({ system: EXECUTED, plan: executed }, times);
      const [best, other] = [secondsOf(executed, times), secondsOf(predicted, times)];
      regrets.push({
        tokens,
        prefill: other.prefill / best.prefill - 1,
        decode: other.decode / best.decode - 1,
      });
    }
    for (let repeat = 0; repeat <= repeats; repeat++) {
      bar.step(repeat === 0 ? 'first run of every system' : `run ${repeat} of ${repeats}`);
      if (repeat > 0) await probes.measure();
      for (const cell of cells) await cell.run();
    }
    const measured = probes.medians();
    const clusterOf = (tokens: number): Cluster =>
      createCluster({ ...asked.cluster, devices: [asMeasured(paced, measured, tokens)] });
    return { model, measured, cells: cells.map((cell) => answered(cell, clusterOf, model)), regrets };
  } finally {
    bar.stop();
    for (const cell of cells) await cell.close();
    await probes.close();
  }
}

interface PhaseAnswers {
  readonly predicted: ReturnType<typeof predictChip>;
  readonly simulated: ReturnType<typeof metrics>;
}

/** @param clusterOf the machine, for as many tokens as products have */
function answered(cell: PlannedCell, clusterOf: (tokens: number) => Cluster, model: Model): NpuCell {
  const { system, plan, workload, times, partTimes } = cell;
  const byParts = partTimes && { times: partTimes };
  const { promptTokens, outputTokens } = workload;
  const [ofPrompt, ofToken] = [promptTokens, 1].map((tokens) => {
    const cluster = clusterOf(tokens);
    const predicted = predictChip({ ...chipCase(plan, cluster, model), ...byParts }, promptTokens + outputTokens / 2);
    return { predicted, simulated: metrics(simulate({ cluster, model, plan, workload, ...byParts }).trace) };
  }) as [PhaseAnswers, PhaseAnswers];
  const measured = (phase: keyof typeof times): Sample => quietSample(times[phase].slice(1));
  return {
    system,
    mode: partTimes === undefined ? 'prediction' : 'real execution',
    synchronisation: plan.stages[0].partition.synchronisation,
    tokens: promptTokens,
    prefill: {
      predicted: ofPrompt.predicted.prefill.seconds,
      simulated: ofPrompt.simulated.firstTokenSeconds ?? Number.NaN,
      measured: measured('prefill'),
    },
    decode: {
      predicted: ofToken.predicted.decode.seconds,
      simulated: ofToken.simulated.tokenSeconds ?? Number.NaN,
      measured: measured('decode'),
    },
  };
}
