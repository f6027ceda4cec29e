import { publishedSystem } from '../../datasets/published-systems.ts';
import { CAUSES, type Cause } from '../../engine/cost/breakdown.ts';
import { enumerate, formatDeviation, formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { median } from '../report/median.ts';
import { publishedRatio } from './results.ts';
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

/** Times within this ratio count as the same. */
const SAME = 1.0005;

/** A row with a plan that runs. */
type Planned = SweepRow & { readonly outcome: Extract<SweepRow['outcome'], { status: 'planned' }> };

/** The findings about one cluster, in sentences; every number is computed from them. */
export function findings(rows: readonly SweepRow[]): string[] {
  const planned = rows.filter(isPlanned);
  const [first] = rows;
  if (first === undefined) return [];
  if (planned.length === 0) return [`On ${first.cluster} no scheduler has a plan that runs.`];
  return [fastestSentence(planned), ...optional(gapSentence(planned)), ...optional(publishedSentence(planned))];
}

function isPlanned(row: SweepRow): row is Planned {
  return row.outcome.status === 'planned';
}

function tpot(row: Planned): number {
  return row.outcome.breakdown.tokenSeconds;
}

/** The fastest plan per model, and where the time goes for the slowest model. */
function fastestSentence(planned: readonly Planned[]): string {
  const best = models(planned).map((model) => fastest(planned.filter((row) => row.model.label === model)));
  const slowest = best.reduce((one, other) => (tpot(other) > tpot(one) ? other : one));
  const quickest = best.reduce((one, other) => (tpot(other) < tpot(one) ? other : one));
  const { seconds, tokenSeconds } = slowest.outcome.breakdown;
  const causes = CAUSES.filter((cause) => seconds[cause] >= 0.1 * tokenSeconds)
    .sort((one, other) => seconds[other] - seconds[one])
    .map((cause) => `${formatPercent(seconds[cause] / tokenSeconds)} ${CAUSE_NAMES[cause]}`);
  const where = `${enumerate(causes)}${headAlone(planned)}.`;
  const time = `${formatSeconds(tpot(slowest))} per token`;
  if (best.length === 1)
    return `The best plan for ${slowest.model.label} on ${slowest.cluster} (${slowest.scheduler}) takes ${time}: ${where}`;
  return `The best plans on ${slowest.cluster} take ${formatSeconds(tpot(quickest))} (${quickest.model.label}) to ${time} (${slowest.model.label}); the latter is ${where}`;
}

function headAlone(planned: readonly Planned[]): string {
  const most = largest(ratiosToBest(planned, 'single-device'));
  if (most === undefined || most.ratio < 1.005) return '';
  const factor = `${threeDigits(most.ratio)} times as long`;
  return models(planned).length === 1
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
  if (models(planned).length === 1) {
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
        const ratio = publishedRatio(row);
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
  return parts.length === 0 ? undefined : `Errors against published times, predicted: ${enumerate(parts)}.`;
}

/** A scheduler's TPOT over the best TPOT of the same model. */
function ratiosToBest(planned: readonly Planned[], scheduler: string): { model: string; ratio: number }[] {
  return models(planned).flatMap((model) => {
    const rows = planned.filter((row) => row.model.label === model);
    const own = rows.find((row) => row.scheduler === scheduler);
    return own === undefined || rows.length < 2 ? [] : [{ model, ratio: tpot(own) / tpot(fastest(rows)) }];
  });
}

/** The fastest row; `optimal` is preferred among equals. */
function fastest(rows: readonly Planned[]): Planned {
  const best = rows.reduce((one, other) => (tpot(other) < tpot(one) ? other : one));
  return rows.find((row) => row.scheduler === 'optimal' && tpot(row) < SAME * tpot(best)) ?? best;
}

function largest(ratios: readonly { model: string; ratio: number }[]): { model: string; ratio: number } | undefined {
  return [...ratios].sort((one, other) => other.ratio - one.ratio)[0];
}

function models(rows: readonly SweepRow[]): string[] {
  return [...new Set(rows.map((row) => row.model.label))];
}

function optional(sentence: string | undefined): string[] {
  return sentence === undefined ? [] : [sentence];
}
