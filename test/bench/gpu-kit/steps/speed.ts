import type { FileMix } from '../../../../engine/model/mix.ts';
import type { Discipline } from '../../engine/contest.ts';
import { cellText, type GpuContest, gpuContest } from '../../engine/gpu-contest.ts';
import { CONTESTS, MIXTURE } from '../contests.ts';
import { dropModel, kitModel, kitShapes } from '../models.ts';
import type { Cell } from '../results.ts';
import type { Step, StepTools } from '../step-tools.ts';

const DISCIPLINES: readonly Discipline[] = [
  { kind: 'decode', tokens: 64 },
  { kind: 'prefill', tokens: 512 },
  { kind: 'prefill', tokens: 2048 },
];
/** What a GPU in software does in seconds. */
const SMALL_DISCIPLINES: readonly Discipline[] = [
  { kind: 'decode', tokens: 8 },
  { kind: 'prefill', tokens: 64 },
];

const REPEATS = 5;

/** Decoding and prefilling beside llama.cpp's Vulkan build by turns, as shares of what probes reach. */
export const speed: Step = {
  name: 'speed',
  title: 'decode and prefill beside llama.cpp',
  weight: 30,
  async run(tools) {
    const shapes = kitShapes(tools.software);
    let [cells, leftOut] = [0, 0];
    for (const [index, contestant] of CONTESTS.entries()) {
      const [name, mix] = contestant;
      const model = { shape: shapes[name], mix };
      const what = `${model.shape.name} ${mix}`;
      if (index > 0 && tools.secondsLeft() < LEAST_SECONDS) {
        tools.save({ kind: 'missing', what, reason: 'no time was left' });
        leftOut++;
        continue;
      }
      try {
        cells += await contestOf(model, CONTESTS.length - index, tools);
      } catch (error) {
        const reason = (error as Error).message;
        tools.save({ kind: 'missing', what, reason }, `${what}: ${reason}`);
      }
      if (index > 0 && contestant !== MIXTURE) dropModel(tools.models, model);
    }
    return `${cells} cells${leftOut === 0 ? '' : `; no time was left for ${leftOut} models`}`;
  },
};

/** A model may have so much of the time that is left, or its equal part of it if that is more. */
const MOST_SHARE = 0.4;
/** No model is begun with less time left. */
const LEAST_SECONDS = 8;

/** @param left models that are still to come, this one among them @returns cells that were measured */
async function contestOf(
  model: { readonly shape: ReturnType<typeof kitShapes>['1b']; readonly mix: FileMix },
  left: number,
  tools: StepTools,
): Promise<number> {
  const { path, made } = await kitModel(tools.models, model);
  if (made !== undefined) tools.save(made, `made ${model.shape.name} ${model.mix} in ${secondsOf(made)} s`);
  // The large models come first and take most of the time.
  const until = tools.secondsLeft() * (1 - Math.max(MOST_SHARE, 1 / left));
  const engines = new Set<string>();
  const contest: GpuContest = {
    ...{ file: path, repeats: REPEATS, device: tools.device, folder: tools.peer, programs: [] },
    disciplines: tools.software ? SMALL_DISCIPLINES : DISCIPLINES,
    builds: ['vulkan'],
    described: (engine) => engines.add(engine),
    missing: (reason) => tools.save({ kind: 'missing', what: 'peer', reason }, reason),
    hasTime: () => tools.secondsLeft() > until,
  };
  let cells = 0;
  for await (const cell of gpuContest(contest)) {
    const { kind: discipline, share, limit, rates, ...others } = cell;
    const turns = Object.fromEntries(Object.entries(rates).map(([name, each]) => [name, [...each]]));
    const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
    tools.save(
      {
        kind: 'contest',
        discipline,
        ...others,
        rates: turns,
        share: finite(share),
        limit: finite(limit),
        engines: [...engines],
      },
      `${cellText(cell)} (${Number.isFinite(share) ? `${(100 * share).toFixed(0)} % of the probe` : 'no probe'})`,
    );
    cells++;
  }
  return cells;
}

const secondsOf = (made: Cell): string => (made.kind === 'model' ? made.seconds.toFixed(0) : '');
