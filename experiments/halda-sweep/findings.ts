import { publishedSystem } from '../../datasets/published-systems.ts';
import { CAUSES, type Cause } from '../../engine/cost/breakdown.ts';
import { enumerate, formatDeviation, formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { planShares } from '../../engine/plan/plan.ts';
import { median } from '../report/median.ts';
import { fastest, modelsOf, type Planned, plannedRows, rankedSeconds, SAME } from './best.ts';
import { simulatedRatio } from './results.ts';
import type { SweepRow } from './sweep.ts';

export const CAUSE_NAMES: Readonly<Record<Cause, string>> = {
  compute: 'compute',
  memory: 'memory reads',
  kvCopy: 'KV cache writes',
  deviceCopy: 'RAM–VRAM copies',
  disk: 'disk reads',
  link: 'network',
  overhead: 'launch overhead',
};

/** The findings about one cluster, in sentences, the winners first; every number is computed from the rows. */
export function findings(rows: readonly SweepRow[], informed: readonly SweepRow[] = []): string[] {
  const planned = plannedRows(rows);
  const [first] = rows;
  if (first === undefined) return [];
  if (planned.length === 0) return [`On ${first.cluster} no scheduler has a plan that runs.`];
  return [
    winnersSentence(planned),
    ...optional(misledSentence(planned, plannedRows(informed))),
    fastestSentence(planned),
    ...optional(gapSentence(planned)),
    ...optional(spaceSentence(planned)),
    ...optional(publishedSentence(planned)),
  ];
}

/** The findings that stand below the first table. */
export function firstFindings(rows: readonly SweepRow[], informed: readonly SweepRow[]): string[] {
  const planned = plannedRows(rows);
  if (planned.length === 0) return findings(rows);
  const [most] = misledModels(planned, plannedRows(informed));
  const misled =
    most === undefined
      ? []
      : [`What devices report misleads by up to ${formatPercent(1 - most.ratio)} (${most.model}).`];
  return [winnersSentence(planned), ...misled];
}

/** Tokens per second of the fastest plans, and how far halda is from them, in a sentence; none if nothing runs. */
export function rateSentence(rows: readonly SweepRow[]): string[] {
  const planned = plannedRows(rows);
  const labels = modelsOf(planned);
  const rates = labels
    .map((model) => 1 / rankedSeconds(fastest(planned.filter((row) => row.model.label === model))))
    .sort((one, other) => one - other);
  const [slowest, quickest] = [rates[0], rates.at(-1)];
  if (slowest === undefined || quickest === undefined) return [];
  const range = rates.length === 1 ? threeDigits(slowest) : `${threeDigits(slowest)} to ${threeDigits(quickest)}`;
  const halda = ratiosToBest(planned, 'halda');
  const worst = largest(halda);
  const equal = halda.filter(({ ratio }) => ratio < SAME).length;
  const behind =
    worst === undefined
      ? ''
      : `; halda’s plans are as fast on ${equal} of ${halda.length} models${worst.ratio < SAME ? '' : `, and at worst take ${formatPercent(worst.ratio - 1)} longer`}`;
  return [`The best plans on ${planned[0]?.cluster} write ${range} tokens/s${behind}.`];
}

/**
 * A line for each model, the largest first: tokens per second of its best plan, on which devices, and which don't help.
 * @param devices of the cluster, by name
 */
export function modelFindings(rows: readonly SweepRow[], devices: readonly string[]): string[] {
  const planned = plannedRows(rows);
  const best = modelsOf(planned).map((model) => fastest(planned.filter((row) => row.model.label === model)));
  return best
    .sort((one, other) => other.model.model.bytes - one.model.model.bytes)
    .map((row) => {
      const used = planShares(row.outcome.plan).map(({ device }) => device);
      const idle = devices.filter((name) => !used.includes(name));
      const help = idle.length === 0 ? '' : `; ${enumerate(idle)} ${idle.length === 1 ? 'doesn’t' : 'don’t'} help`;
      return `${threeDigits(1 / rankedSeconds(row))} tokens/s: ${row.model.label} on ${enumerate(used)}${help}.`;
    });
}

/** Names the schedulers with the fastest plans by simulation, and how far halda is from them. */
export function winnersSentence(planned: readonly Planned[]): string {
  const labels = modelsOf(planned);
  const winners = labels.map((model) => fastest(planned.filter((row) => row.model.label === model)).scheduler);
  const counted = [...new Set(winners)]
    .map((name) => ({ name, wins: winners.filter((winner) => winner === name).length }))
    .sort((one, other) => other.wins - one.wins)
    .map(({ name, wins }, index) => `${name} ${index === 0 ? 'is fastest ' : ''}on ${wins}`);
  const halda = ratiosToBest(planned, 'halda');
  const worst = largest(halda);
  if (labels.length === 1) {
    const behind = worst === undefined || worst.ratio < SAME ? '' : `; halda’s takes ${formatDeviation(worst.ratio)}`;
    return `By simulation ${winners[0]} has the fastest plan${behind}.`;
  }
  const won = `By simulation ${enumerate(counted)} of ${labels.length} models`;
  if (worst === undefined || worst.ratio < SAME) return `${won}.`;
  const equal = halda.filter(({ ratio }) => ratio < SAME).length;
  return `${won}; halda is as fast on ${equal} and at worst takes ${formatPercent(worst.ratio - 1)} longer (${worst.model}).`;
}

interface Misled {
  readonly model: string;
  /** Row of the plan for what the devices have. */
  readonly row: Planned;
  /** Its time over that of the best plan for what the devices report. */
  readonly ratio: number;
}

/** Models for which plans for what the devices have would be faster than all plans for what they report, by how much. */
function misledModels(planned: readonly Planned[], informed: readonly Planned[]): Misled[] {
  return informed
    .flatMap((row): Misled[] => {
      const own = planned.filter(({ model }) => model.label === row.model.label);
      if (own.length === 0) return [];
      const ratio = rankedSeconds(row) / rankedSeconds(fastest(own));
      return ratio * MISLED < 1 ? [{ model: row.model.label, row, ratio }] : [];
    })
    .sort((one, other) => one.ratio - other.ratio);
}

function misledSentence(planned: readonly Planned[], informed: readonly Planned[]): string | undefined {
  const misled = misledModels(planned, informed);
  const [first] = misled;
  if (first === undefined) return undefined;
  const labels = enumerate(misled.map(({ model }) => model));
  const devices = enumerate(planShares(first.row.outcome.plan).map(({ device }) => device));
  const most = `${formatSeconds(rankedSeconds(first.row))} (${formatDeviation(first.ratio)}), on ${devices}`;
  const where = misled.length === 1 ? '' : `, most for ${first.model}`;
  return `Schedulers plan for what devices report, not for what they have; that misleads all of them for ${labels}: plans for the truth would take less${where}: ${most}.`;
}

/** Ratio of times from which on a sentence says that schedulers are misled. */
const MISLED = 1.005;

/** Schedulers whose plans have what those of `optimal` can't have. */
const OUTSIDE: Readonly<Partial<Record<string, string>>> = {
  'cpu-gpu-split': 'KV caches in RAM',
  'helm-devices': 'KV caches in RAM',
  'helm-ring': 'KV caches in RAM',
  'ring-aware': 'pinned weights and several rounds',
  'tensor-partition': 'operators cut between GPU and NPU',
};

/** The space in which `optimal` is optimal, and which schedulers beat it from outside. */
function spaceSentence(planned: readonly Planned[]): string | undefined {
  const better = Object.entries(OUTSIDE).flatMap(([scheduler, has]) => {
    const wins = modelsOf(planned).filter((model) => {
      const rows = planned.filter((row) => row.model.label === model);
      const [own, exact] = [scheduler, 'optimal'].map((name) => rows.find((row) => row.scheduler === name));
      return own !== undefined && exact !== undefined && rankedSeconds(own) * SAME < rankedSeconds(exact);
    }).length;
    return wins === 0 ? [] : [`${scheduler} (${has}) on ${wins}`];
  });
  if (!planned.some(({ scheduler }) => scheduler === 'optimal')) return undefined;
  const space =
    'optimal is exact by the closed form of Eq. 1, among rings whose weights are mapped and whose KV caches lie with their layers';
  return better.length === 0 ? `${space}.` : `${space}; from outside that space, ${enumerate(better)} are faster.`;
}

/** The fastest plan per model, and where the time goes for the slowest model. */
function fastestSentence(planned: readonly Planned[]): string {
  const best = modelsOf(planned).map((model) => fastest(planned.filter((row) => row.model.label === model)));
  const slowest = best.reduce((one, other) => (rankedSeconds(other) > rankedSeconds(one) ? other : one));
  const quickest = best.reduce((one, other) => (rankedSeconds(other) < rankedSeconds(one) ? other : one));
  const { seconds, tokenSeconds } = slowest.outcome.breakdown;
  const causes = CAUSES.filter((cause) => seconds[cause] >= 0.1 * tokenSeconds)
    .sort((one, other) => seconds[other] - seconds[one])
    .map((cause) => `${formatPercent(seconds[cause] / tokenSeconds)} ${CAUSE_NAMES[cause]}`);
  const where = `predicted at ${formatSeconds(tokenSeconds)}: ${enumerate(causes)}${headAlone(planned)}.`;
  const time = `${formatSeconds(rankedSeconds(slowest))} per token`;
  if (best.length === 1)
    return `The best plan for ${slowest.model.label} on ${slowest.cluster} (${slowest.scheduler}) takes ${time}, ${where}`;
  return `The best plans on ${slowest.cluster} take ${formatSeconds(rankedSeconds(quickest))} (${quickest.model.label}) to ${time} (${slowest.model.label}); the latter is ${where}`;
}

function headAlone(planned: readonly Planned[]): string {
  const most = largest(ratiosToBest(planned, 'single-device'));
  if (most === undefined || most.ratio < 1.005) return '';
  const factor = `${threeDigits(most.ratio)} times as long`;
  return modelsOf(planned).length === 1
    ? `. The head alone takes ${factor}`
    : `. The head alone takes up to ${factor} (${most.model})`;
}

/** The heuristics compared with the best plan of all. */
function gapSentence(planned: readonly Planned[]): string | undefined {
  const gaps = ['halda', 'halda-repaired', 'memory-ratio', 'compute-ratio'].flatMap((scheduler) => {
    const ratios = ratiosToBest(planned, scheduler);
    const worst = largest(ratios);
    return worst === undefined ? [] : [{ scheduler, ratios, worst }];
  });
  if (gaps.length === 0) return undefined;
  if (modelsOf(planned).length === 1) {
    const reach = gaps.map(({ scheduler, worst }) => `${scheduler} ${formatDeviation(worst.ratio)}`);
    return `Against the best plan: ${enumerate(reach)}.`;
  }
  const parts = gaps.map(({ scheduler, ratios, worst }) => {
    const equal = ratios.filter(({ ratio }) => ratio < SAME).length;
    const reach = `${scheduler} for ${equal} of ${ratios.length} models`;
    return equal === ratios.length ? reach : `${reach} (at worst ${formatDeviation(worst.ratio)}, ${worst.model})`;
  });
  return `The best time of the sweep is reached by ${enumerate(parts)}.`;
}

/** Errors on held-out cells; cells that constants were fitted to say nothing about accuracy. */
function publishedSentence(planned: readonly Planned[]): string | undefined {
  const parts = ['halda', 'optimal', 'memory-ratio', 'single-device', 'cpu-gpu-split', 'exo', 'dllama'].flatMap(
    (scheduler) => {
      const errors = planned.flatMap((row) => {
        const ratio = simulatedRatio(row);
        if (row.scheduler !== scheduler || ratio === undefined || row.published?.cell.use !== 'held-out') return [];
        return [{ model: row.model.label, ratio, error: Math.abs(ratio - 1) }];
      });
      const worst = [...errors].sort((one, other) => other.error - one.error)[0];
      if (worst === undefined) return [];
      const against = `${scheduler} against ${publishedSystem(scheduler)}`;
      const most = `${formatDeviation(worst.ratio)} for ${worst.model}`;
      if (errors.length === 1) return [`${against} ${most}`];
      const middle = formatPercent(median(errors.map(({ error }) => error)));
      return [`${against} ${middle} in the median of ${errors.length} cells (at worst ${most})`];
    },
  );
  return parts.length === 0 ? undefined : `Errors of simulated against published times: ${enumerate(parts)}.`;
}

/** A scheduler's TPOT over the best TPOT of the same model. */
function ratiosToBest(planned: readonly Planned[], scheduler: string): { model: string; ratio: number }[] {
  return modelsOf(planned).flatMap((model) => {
    const rows = planned.filter((row) => row.model.label === model);
    const own = rows.find((row) => row.scheduler === scheduler);
    return own === undefined || rows.length < 2
      ? []
      : [{ model, ratio: rankedSeconds(own) / rankedSeconds(fastest(rows)) }];
  });
}

function largest(ratios: readonly { model: string; ratio: number }[]): { model: string; ratio: number } | undefined {
  return [...ratios].sort((one, other) => other.ratio - one.ratio)[0];
}

function optional(sentence: string | undefined): string[] {
  return sentence === undefined ? [] : [sentence];
}
