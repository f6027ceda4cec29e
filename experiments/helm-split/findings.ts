import { enumerate, formatDeviation, formatPercent } from '../../engine/input/format.ts';
import { median } from '../report/median.ts';
import {
  agrees,
  type Configuration,
  impliedCpuRate,
  impliedOverhead,
  overheadExceeds,
  splitText,
  withinNoise,
} from './configurations.ts';
import { commonReserve, type Reserve, type VramInterval } from './reserve.ts';

export interface HelmEvidence {
  readonly configurations: readonly Configuration[];
  readonly intervals: readonly VramInterval[];
  /** The largest error that the thesis reports of its own predictions (6.4.4), a share. */
  readonly claimedError: number | undefined;
}

/** The findings about the configurations, in sentences; every number is computed from them. */
export function helmFindings({ configurations, intervals, claimedError }: HelmEvidence): string[] {
  return [
    splitSentence(configurations),
    reserveSentence(intervals),
    accuracySentence(configurations, claimedError),
    overheadSentence(configurations),
    cpuRateSentence(configurations),
  ].filter((sentence) => sentence !== undefined);
}

function splitSentence(configurations: readonly Configuration[]): string | undefined {
  const comparable = configurations.filter((one) => agrees(one) !== undefined);
  if (comparable.length === 0) return undefined;
  const ran = comparable.filter(({ published }) => !published.failed);
  const failed = comparable.filter(({ published }) => published.failed);
  const parts: string[] = [];
  if (ran.length > 0) parts.push(`the published split on ${ran.filter(agrees).length} of ${ran.length} configurations`);
  if (failed.length > 0) {
    const right = failed.filter(agrees).length;
    parts.push(
      `no split on ${right} of ${failed.length} where HELM failed, for want of RAM (Eq. 4.16 asks for VRAM only)`,
    );
  }
  const others = comparable
    .filter((one) => !agrees(one))
    .map(
      (one) =>
        `${nameOf(one)} ${splitText(one.chosen?.split) || 'none'}, published ${splitText(one.published.split) || 'none'}`,
    );
  return `The search finds ${enumerate(parts)}${others.length === 0 ? '' : ` (not: ${others.join('; ')})`}.`;
}

/** The reserve is fitted to the splits: the values that one machine's splits allow, which the others then confirm. */
function reserveSentence(intervals: readonly VramInterval[]): string | undefined {
  if (intervals.length === 0) return undefined;
  const all = commonReserve(intervals);
  if (all === undefined) return 'No one VRAM reserve gives all of the published splits.';
  const machines = [...new Set(intervals.map(({ machine }) => machine))];
  const deciding = machines.find((machine) => {
    const own = commonReserve(intervals.filter((interval) => interval.machine === machine));
    return own !== undefined && own.above === all.above && own.atMost === all.atMost;
  });
  const confirmed = machines.filter((machine) => machine !== deciding);
  const splits = intervals.length === 1 ? 'the one split that uses' : `the ${intervals.length} splits that use`;
  const fitted = `A VRAM reserve of ${reserveText(all)} below the nominal size gives ${splits} the CPU: the reserve is fitted to them`;
  if (deciding === undefined || confirmed.length === 0) return `${fitted}.`;
  return `${fitted}, but ${deciding} alone bounds it so, and ${enumerate(confirmed)} confirm it.`;
}

/** `0.36–0.56 GB`; `up to 0.64 GB` if the lower bound is negative. */
export function reserveText({ above, atMost }: Reserve): string {
  if (above < 0) return `up to ${(atMost / 1e9).toFixed(2)} GB`;
  return `${(above / 1e9).toFixed(2)}–${(atMost / 1e9).toFixed(2)} GB`;
}

/** Latencies of configurations that δ̄ was not calibrated on; the others say nothing about accuracy. */
function accuracySentence(
  configurations: readonly Configuration[],
  claimedError: number | undefined,
): string | undefined {
  const cells = configurations.flatMap((one) => {
    const { chosen, published } = one;
    if (chosen === undefined || published.fit) return [];
    return published.latencies.map((latency) => ({
      one,
      ratio: chosen.correctedSeconds / latency.seconds,
      uncorrected: chosen.split.tokenSeconds / latency.seconds,
      within: withinNoise(one, latency),
    }));
  });
  if (cells.length === 0) return undefined;
  const middle = (ratios: readonly number[]): string =>
    formatPercent(median(ratios.map((ratio) => Math.abs(ratio - 1))));
  const worst = cells.reduce((most, cell) => (Math.abs(cell.ratio - 1) > Math.abs(most.ratio - 1) ? cell : most));
  const within = cells.filter((cell) => cell.within).length;
  const count = cells.length === 1 ? 'the one latency' : `the ${cells.length} latencies`;
  return [
    `T_plan + N δ̄ misses ${count} that δ̄ was not calibrated on by a median of ${middle(cells.map(({ ratio }) => ratio))}`,
    ` (at worst ${formatDeviation(worst.ratio)}, ${nameOf(worst.one)}), T_plan alone by ${middle(cells.map(({ uncorrected }) => uncorrected))};`,
    ` ${within} of ${cells.length} lie within the noise of the thesis’s own tables`,
    claimedError === undefined
      ? '.'
      : `. The thesis reports at most ${formatPercent(claimedError)} for predictions that its equations don’t give.`,
  ].join('');
}

/** Names cases in which the thesis's δ̄ can't be right, and the value that its measurements imply. */
function overheadSentence(configurations: readonly Configuration[]): string | undefined {
  const beyond = configurations.filter((one) =>
    one.published.latencies.some((latency) => overheadExceeds(one, latency)),
  );
  if (beyond.length === 0) return undefined;
  const implied = beyond.flatMap((one) =>
    one.published.latencies.flatMap((latency) => impliedOverhead(one, latency) ?? []),
  );
  const milliseconds = [Math.min(...implied), Math.max(...implied)].map((seconds) => (1000 * seconds).toFixed(2));
  const instead = implied.length === 0 ? '' : `; a δ̄ of ${milliseconds.join(' to ')} ms would give them`;
  return `N δ̄ alone exceeds what was measured on ${enumerate(beyond.map(nameOf))}${instead}.`;
}

function cpuRateSentence(configurations: readonly Configuration[]): string | undefined {
  const rates = configurations.flatMap((one) =>
    one.published.latencies.flatMap((latency) => impliedCpuRate(one, latency) ?? []),
  );
  const described = configurations.flatMap(({ chosen }) =>
    chosen && chosen.cpuReadBytes > 0 ? [chosen.cpuBandwidth] : [],
  );
  if (rates.length === 0) return undefined;
  return `If all else is as predicted, the published latencies of the splits mean that CPUs read weights at ${rangeText(rates)}, where the machines are described with ${rangeText(described)}.`;
}

function rangeText(rates: readonly number[]): string {
  const [least, most] = [Math.min(...rates), Math.max(...rates)].map((rate) => (rate / 1e9).toFixed(0));
  return least === most ? `${least} GB/s` : `${least} to ${most} GB/s`;
}

function nameOf({ machine, label }: Configuration): string {
  return `${label} on ${machine}`;
}
