import { InputError } from '../../../../engine/input/input-error.ts';
import type { Discipline } from '../../engine/contest.ts';
import { cellText, type GpuCell, type GpuContest, gpuContest } from '../../engine/gpu-contest.ts';
import { contestModels, dropModel, type KitModel, kitModel } from '../models.ts';
import type { Cell } from '../results.ts';
import type { Step, StepTools } from '../step-tools.ts';

const DISCIPLINES: readonly Discipline[] = [
  { kind: 'decode', tokens: 64 },
  { kind: 'prefill', tokens: 512 },
  { kind: 'prefill', tokens: 2048 },
];
/** Cells that a GPU in software computes in seconds. */
const SMALL_DISCIPLINES: readonly Discipline[] = [
  { kind: 'decode', tokens: 4 },
  { kind: 'prefill', tokens: 16 },
];

const REPEATS = 5;

/** Models that later steps use too. */
const KEPT = 2;

/** Decoding and prefilling next to llama.cpp's Vulkan build by turns, as shares of what probes reach. */
export const speed: Step = {
  name: 'speed',
  title: 'decode and prefill next to llama.cpp',
  weight: 30,
  async run(tools) {
    const models = contestModels(tools.software);
    if (tools.software) tools.save({ kind: 'missing', what: 'peer', reason: 'llama.cpp uses no GPU in software' });
    let [cells, leftOut] = [0, 0];
    for (const [index, model] of models.entries()) {
      const what = `${model.shape.name} ${model.mix}`;
      if (index > 0 && tools.secondsLeft() < LEAST_SECONDS) {
        tools.save({ kind: 'missing', what, reason: 'no time was left' });
        leftOut++;
        continue;
      }
      try {
        cells += await contestOf(model, models.length - index, tools);
      } catch (error) {
        const reason = (error as Error).message;
        tools.save({ kind: 'missing', what, reason }, `${what}: ${reason}`);
      }
      if (index >= KEPT) dropModel(tools.models, model);
    }
    return `${cells} cells${leftOut === 0 ? '' : `; no time was left for ${leftOut} models`}`;
  },
};

/** A model has at most so much of the time that is left, or its equal part of it if that is more. */
const MOST_SHARE = 1 / 3;
/** Part of a model's time after which no round is begun. */
const BEGUN_SHARE = 0.7;
/** No model is begun with less time left. */
const LEAST_SECONDS = 8;

/**
 * Measures a model until its part of the time is over, which ends its engines.
 * @param left models that are still to come, this one among them
 * @returns cells that were measured
 */
async function contestOf(model: KitModel, left: number, tools: StepTools): Promise<number> {
  const begun = tools.secondsLeft();
  const seconds = begun * Math.max(MOST_SHARE, 1 / left);
  const signal = AbortSignal.timeout(Math.round(1000 * seconds));
  const { path, made } = await kitModel(tools.models, model);
  if (made !== undefined) tools.save(made, `made ${model.shape.name} ${model.mix} in ${secondsOf(made)} s`);
  const engines = new Set<string>();
  const contest: GpuContest = {
    ...{ file: path, repeats: REPEATS, device: tools.device, programs: [], signal },
    folder: tools.software ? undefined : tools.peer,
    disciplines: tools.software ? SMALL_DISCIPLINES : DISCIPLINES,
    builds: ['vulkan'],
    described: (engine) => engines.add(engine),
    missing: (reason) => tools.save({ kind: 'missing', what: 'peer', reason }, reason),
    hasTime: () => begun - tools.secondsLeft() < BEGUN_SHARE * seconds,
  };
  const measured = new Map<string, GpuCell>();
  try {
    for await (const cell of gpuContest(contest)) {
      measured.set(`${cell.kind} ${cell.tokens}`, cell);
      tools.save(contestCell(cell, engines));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    if (measured.size === 0)
      throw new InputError('engines', `cut off after ${seconds.toFixed(0)} s, before the first of their turns ended`);
  }
  for (const cell of measured.values()) tools.tell(lineOf(cell));
  return measured.size;
}

function contestCell(cell: GpuCell, engines: ReadonlySet<string>): Cell {
  const { kind: discipline, share, limit, rates, ...others } = cell;
  const turns = Object.fromEntries(Object.entries(rates).map(([name, each]) => [name, [...each]]));
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    kind: 'contest',
    discipline,
    ...others,
    rates: turns,
    share: finite(share),
    limit: finite(limit),
    engines: [...engines],
  };
}

const lineOf = (cell: GpuCell): string =>
  `${cellText(cell)} (${Number.isFinite(cell.share) ? `${(100 * cell.share).toFixed(0)} % of the probe` : 'no probe'})`;

const secondsOf = (made: Cell): string => (made.kind === 'model' ? made.seconds.toFixed(0) : '');
