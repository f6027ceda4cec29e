import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseCluster } from '../../../../engine/hardware/parse-cluster.ts';
import { InputError } from '../../../../engine/input/input-error.ts';
import { loadAddon } from '../../../../engine/kernels/native/addon.ts';
import { openKernels } from '../../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import { measureDisk } from '../../../../engine/profile/disk.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from '../../../../engine/profile/probes/weights-file.ts';
import { clockFor } from '../../../../engine/profile/processor-clock.ts';
import { openSplitModel } from '../../../../engine/runtime/split/split-transformer.ts';
import { openProbes } from '../../../../experiments/split-measured/probes.ts';
import { splitRunner } from '../../../../experiments/split-measured/runner.ts';
import {
  type Answer,
  allSplits,
  answersBy,
  type MeasuredSplit,
  type Split,
  type SplitAnswers,
} from '../../../../experiments/split-measured/splits.ts';
import { kitModel, splitModel } from '../models.ts';
import { deviations, type SplitCell } from '../split-errors.ts';
import type { Step, StepTools } from '../step-tools.ts';

const TOKENS = { promptTokens: 128, outputTokens: 8 };
/** Tokens that a GPU in software computes in seconds. */
const SMALL_TOKENS = { promptTokens: 16, outputTokens: 4 };
/** Rounds over all splits that count; one more comes before them. */
const MOST_ROUNDS = 5;
/** As many rounds fit into the time, or splits are left out. */
const LEAST_ROUNDS = 3;

/** Every boundary between CPU and GPU: predicted and simulated by probes of the same minutes, and measured. */
export const splits: Step = {
  name: 'splits',
  title: 'every split between CPU and GPU: predicted, simulated, measured',
  weight: 16,
  async run(tools) {
    const { path, made } = await kitModel(tools.models, splitModel(tools.software));
    if (made !== undefined) tools.save(made);
    const addon = loadAddon();
    if (typeof addon === 'string') throw new InputError('native kernels', `not available (${addon})`);
    const weightsFile = join(tools.models, `weights.${process.pid}.tmp`);
    return await withWeightsFile(weightsFile, 1, () => {
      const disk = measureDisk(addon, weightsFile, WEIGHTS_FILE_BYTES, () => {});
      return measured(tools, { path, weightsFile, disk });
    });
  },
};

interface Files {
  readonly path: string;
  readonly weightsFile: string;
  readonly disk: ReturnType<typeof measureDisk>;
}

async function measured(tools: StepTools, { path, weightsFile, disk }: Files): Promise<string> {
  const threads = availableParallelism();
  const tokens = tools.software ? SMALL_TOKENS : TOKENS;
  const { opened: cpu, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  const gpu = await openGpuKernels({ adapter: tools.device });
  const context = tokens.promptTokens + tokens.outputTokens;
  const { model, on } = openSplitModel(path, { cpu, gpu: gpu.kernels, context });
  const probes = await openProbes({ cpu, clock, gpu, model, weightsFile, disk, passes: false });
  const running = async (split: Split) => ({ split, run: splitRunner(await on(split.plan), model, tokens) });
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const start = performance.now();
    await work();
    return (performance.now() - start) / 1000;
  };
  const probeSeconds = await timed(probes.round);
  const all = allSplits(model);
  const ends = [await running(all[0] as Split), await running(all.at(-1) as Split)];
  for (const { run } of ends) await run.once();
  const endSeconds = await timed(async () => {
    for (const { run } of ends) await run.once();
  });
  const roundSeconds = tools.secondsLeft() / LEAST_ROUNDS - probeSeconds;
  const chosen = spread(all, Math.max(3, Math.floor((2 * roundSeconds) / endSeconds)));
  const runs: Awaited<ReturnType<typeof running>>[] = [];
  for (const split of chosen) runs.push(await running(split));
  const cellOf = (
    { cpuUnits }: Split,
    { ttft, tpot }: MeasuredSplit,
    answers: Pick<SplitAnswers, Answer>,
  ): SplitCell => ({
    ...{ kind: 'split', model: model.name, mix: model.mix, cpuUnits, units: all.length - 1, threads, ...tokens },
    ...{ measured: { ttft, tpot }, predicted: answers.predicted, simulated: answers.simulated },
  });
  let [longest, rounds] = [0, 0];
  let cells: SplitCell[] = [];
  while (rounds < MOST_ROUNDS && (rounds < 1 || tools.secondsLeft() > 1.2 * longest)) {
    const seconds = await timed(async () => {
      await probes.round();
      const cluster = probes.profile();
      tools.save({ kind: 'profile', cluster });
      const answers = answersBy(parseCluster(cluster, 'profile'), { model, ...tokens });
      cells = [];
      for (const { split, run } of runs) {
        if (rounds === 0) await run.once(); // brings weights to where they are used, and isn't counted
        await run.once();
        cells.push(cellOf(split, run.measured(), answers.split(split)));
        tools.save(cells.at(-1) as SplitCell);
      }
    });
    longest = Math.max(longest, seconds);
    rounds++;
  }
  const left = chosen.length < all.length ? ` of ${all.length}, spread evenly, as time was short` : '';
  return `${chosen.length} splits${left}, ${rounds} rounds: ${deviations(cells)}`;
}

/** At most so many of the splits, both ends among them. */
export function spread(all: readonly Split[], most: number): Split[] {
  if (all.length <= most) return [...all];
  const places = Array.from({ length: most }, (_, index) => Math.round((index * (all.length - 1)) / (most - 1)));
  return places.map((place) => all[place] as Split);
}
