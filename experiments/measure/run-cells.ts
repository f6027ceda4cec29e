import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import type { DiskMeasures } from '../../engine/profile/disk.ts';
import type { MemoryFacts } from '../../engine/profile/memory/read-memory.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { Cell, CellAnswers, Times } from './cell.ts';
import { createRunner, type Runner, type RunnerParts } from './runner.ts';

export interface CellsToRun extends Omit<RunnerParts, 'threads'> {
  readonly threads: readonly number[];
  /** Counted runs of each cell; one uncounted run precedes them. */
  readonly repeats: number;
  /** An existing profile, in place of probes. */
  readonly profile: { readonly cluster: Cluster; readonly text: string } | undefined;
  /** The facts of a profile besides those of the CPU. */
  readonly memory: MemoryFacts;
  readonly disk: DiskMeasures | undefined;
  readonly progress: Progress;
}

export interface CellsRun {
  readonly cells: readonly CellAnswers[];
  /** The cluster file of each number of threads. */
  readonly profiles: readonly { readonly threads: number; readonly text: string }[];
}

/** Steps of the progress bar. */
export function stepsOf({ threads, models, contexts, repeats }: Omit<CellsToRun, 'progress'>): number {
  return threads.length * models.length * contexts.length * (repeats + 1);
}

/**
 * Runs all cells in turn, repeatedly, with a round of probes before each model, so that both see the same state of the
 * machine. The device that is predicted and simulated is made from probes alone; nothing is fitted to a cell.
 */
export async function runCells(parts: CellsToRun): Promise<CellsRun> {
  const { repeats, contexts, progress } = parts;
  const runners = parts.threads.map((threads) => createRunner({ ...parts, threads }));
  try {
    for (let repeat = 0; repeat <= repeats; repeat++) {
      for (const runner of runners) {
        for (const [index, cell] of runner.cells.entries()) {
          const { model, threads, promptTokens } = cell;
          const round = repeat === 0 ? 'first run' : `${repeat} of ${repeats}`;
          progress.step(`${round}: ${model.name} ${model.mix}, prompt of ${promptTokens}, threads: ${threads}`);
          if (index % contexts.length === 0) await runner.probes?.round();
          await cell.run();
        }
      }
    }
    const profiles = runners.map((runner) => ({ threads: runner.threads, text: profileOf(runner, parts) }));
    const cells = runners.flatMap((runner, index) => answered(runner, profiles[index]?.text ?? '', parts.tokens));
    return { cells, profiles };
  } finally {
    for (const runner of runners) runner.close();
  }
}

function profileOf({ probes, threads, instructionSet }: Runner, { profile, memory, disk }: CellsToRun): string {
  if (probes === undefined || disk === undefined) return profile?.text ?? '';
  const name = threads === 1 ? 'this machine, 1 thread' : `this machine, ${threads} threads`;
  return clusterFile({ name, memory, disk, cache: undefined, cpu: probes.measures(), gpu: undefined, instructionSet });
}

function answered({ cells }: Runner, text: string, tokens: number): CellAnswers[] {
  const cluster = parseCluster(text, 'profile');
  return cells.map(({ model, threads, promptTokens, measured }) => {
    const cell = { model, threads, promptTokens };
    return { ...cell, ...answersOf(cluster, cell, tokens), measured: measured() };
  });
}

/** Bytes per second of a disk that takes no time: measured models are in memory before they run. */
const NO_DISK = 1e14;

/** Prediction and simulation of a model on the first device of a cluster, with all layers on its CPU. */
function answersOf(
  cluster: Cluster,
  { model, promptTokens }: Cell,
  outputTokens: number,
): { predicted: Times; simulated: Times } {
  const warm = createCluster({
    ...cluster,
    devices: cluster.devices.map((device) => ({ ...device, disk: { sequential: NO_DISK, random: NO_DISK } })),
  });
  const plan = onCpu(warm, model);
  // The mean over the tokens that are decoded.
  const context = promptTokens + Math.round((outputTokens - 1) / 2);
  const workload = createWorkload({ promptTokens, outputTokens, context });
  const parts = { plan, truth: warm, model, workload };
  const { trace } = simulate({ cluster: warm, model, plan, workload, record: 'tokens' });
  const { firstTokenSeconds = Number.NaN, tokenSeconds = Number.NaN } = metrics(trace);
  return {
    predicted: { ttft: predict({ ...parts, phase: 'prefill' }).tokenSeconds, tpot: predict(parts).tokenSeconds },
    simulated: { ttft: firstTokenSeconds, tpot: tokenSeconds },
  };
}

function onCpu({ devices }: Cluster, { layers }: Model): Plan {
  const head = devices[0]?.name ?? '';
  const windows = [{ device: head, layers, gpuLayers: 0 }];
  return ringPlan({ scheduler: 'hand', head, rounds: 1, windows, prefetch: 'none' });
}
