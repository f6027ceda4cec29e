import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { Model } from '../../engine/model/model.ts';
import type { DiskMeasures } from '../../engine/profile/disk.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { DEFAULT_PAGING } from '../../engine/runtime/kv/gpu-pages.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { type BatchAnswers, batchRuns } from './batches.ts';
import { openProbes } from './probes.ts';
import { splitRunner } from './runner.ts';
import { allSplits, answersBy, crossedSplits, type MeasuredSplit, type Split, type SplitAnswers } from './splits.ts';

export interface SplitsToRun {
  readonly file: string;
  /** The GPU's name; `undefined`: the fastest. */
  readonly device: string | undefined;
  readonly threads: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Runs of each split that count; one more comes before them. */
  readonly repeats: number;
  /** Numbers of requests that decode together, under one split. */
  readonly batches: readonly number[];
  /** Random weights for the probes, or a profile in their place. */
  readonly calibration: { readonly weightsFile: string; readonly disk: DiskMeasures } | { readonly profile: string };
  readonly progress: (steps: number) => Progress;
}

export interface SplitsRun {
  readonly model: Model;
  readonly gpu: string;
  readonly splits: readonly SplitAnswers[];
  readonly ablations: readonly Ablation[];
  readonly batches: readonly BatchAnswers[];
  /** The cluster file by which splits were predicted and simulated. */
  readonly profile: string;
}

/** Tokens in a page of the KV cache where it is offloaded: a prompt then has several. */
const PAGE_TOKENS = 16;

/** A change to how one split runs, and what it takes then. */
export interface Ablation {
  readonly name: string;
  readonly cpuUnits: number;
  readonly measured: MeasuredSplit;
}

/**
 * Runs all splits in turn, repeatedly, with a round of probes of both processors before each turn and one after the
 * splits, so that both see the same state of the machine: a probe lasts a tenth of a second, and spreads more than a
 * split does. The machine that is predicted and simulated is made from probes alone.
 */
export async function runSplits(parts: SplitsToRun): Promise<SplitsRun> {
  const { file, threads, promptTokens, outputTokens, repeats } = parts;
  const { opened: cpu, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  const scalar = openKernels({ implementation: 'native', threads, instructionSet: 'scalar' });
  const single = threads === 1 ? undefined : openKernels({ implementation: 'native', threads: 1 });
  const gpu = await openGpuKernels({ adapter: parts.device });
  const context = promptTokens + outputTokens;
  const paging = { ...DEFAULT_PAGING, pageTokens: PAGE_TOKENS };
  const open = (kernels: Kernels) => openSplitModel(file, { cpu: kernels, gpu: gpu.kernels, context, paging });
  const opened = [open(cpu), open(scalar), ...(single === undefined ? [] : [open(single)])] as const;
  try {
    const [{ model, on }, withScalar, withOne] = opened;
    const splits: (Split & { readonly run: ReturnType<typeof splitRunner> })[] = [];
    const whole = allSplits(model);
    for (const split of [...whole, ...crossedSplits(model)])
      splits.push({ ...split, run: splitRunner(await on(split.plan), model, parts) });
    const half = whole[Math.floor(whole.length / 2)] as Split;
    const offloaded = { ...half.plan, kvCache: 'host' } as const;
    const variant = async (name: string, other: typeof withScalar) => ({
      name,
      run: splitRunner(await other.on(half.plan), model, parts),
    });
    const variants = [
      {
        name: `all but ${PAGE_TOKENS} tokens of the GPU’s KV cache in RAM`,
        run: splitRunner(await on(offloaded), model, parts),
      },
      await variant('scalar CPU kernels', withScalar),
      ...(withOne === undefined ? [] : [await variant('one thread', withOne)]),
    ];
    const probes =
      'profile' in parts.calibration
        ? undefined
        : await openProbes({ cpu, clock, gpu, model, passes: true, ...parts.calibration });
    const together = await batchRuns(opened[0], half, parts.batches, { ...parts, model, pageTokens: PAGE_TOKENS });
    const bar = parts.progress((repeats + 1) * (splits.length + variants.length + together.length));
    for (let repeat = 0; repeat <= repeats; repeat++) {
      await probes?.round();
      for (const { cpuUnits, run } of splits) {
        bar.step(`${repeat === 0 ? 'first run' : `${repeat} of ${repeats}`}: k = ${cpuUnits}`);
        await run.once();
      }
      await probes?.round();
      for (const { name, run } of variants) {
        bar.step(name);
        await run.once();
      }
      for (const { batch, once } of together) {
        bar.step(`${batch} requests together`);
        await once();
      }
    }
    const profile = 'profile' in parts.calibration ? parts.calibration.profile : (probes?.profile() ?? '');
    const answers = answersBy(parseCluster(profile, 'profile'), { model, promptTokens, outputTokens });
    return {
      model,
      gpu: gpu.adapter,
      splits: splits.map(({ run, ...split }) => ({ ...split, ...answers.split(split), measured: run.measured() })),
      ablations: variants.map(({ name, run }) => ({ name, cpuUnits: half.cpuUnits, measured: run.measured() })),
      batches: together.map(({ batch, measured }) => ({
        ...{ cpuUnits: half.cpuUnits, batch, measured: measured() },
        ...answers.batch(half, batch),
      })),
      profile,
    };
  } finally {
    for (const one of opened) one.close();
    for (const kernels of [cpu, scalar, single, gpu.kernels]) kernels?.close();
  }
}
