import { formatDeviation, formatPercent, formatSeconds } from '../../engine/terminal/format.ts';
import type { Metric, Quantity } from './prima/quantities.ts';

/** Systems as the paper's columns call them. */
const SYSTEMS: Readonly<Record<string, string>> = {
  'prima.cpp-no-halda': 'w/o halda',
  'prima.cpp-no-prefetch': 'w/o prefetch',
  'prima.cpp-speculative': 'speculative',
};

export const METRIC_NAMES: Readonly<Record<Metric, string>> = {
  tpot: 'TPOT',
  ttft: 'TTFT',
  'memory-pressure': 'memory pressure',
};

export function systemName(system: string): string {
  return SYSTEMS[system] ?? system;
}

/** `15.0 ms`, `4.7 %`, `OOM`, or nothing. */
export function quantityText(metric: string, quantity: Quantity | undefined): string {
  if (quantity === undefined) return '';
  if (typeof quantity !== 'number') return quantity;
  return metric === 'memory-pressure' ? formatPercent(quantity) : formatSeconds(quantity);
}

/** `−8.4 %` of a time, `−1.2 pp` (percentage points) of a share; nothing where there is no error to speak of. */
export function errorText(metric: string, error: number | undefined): string {
  if (error === undefined) return '';
  if (metric !== 'memory-pressure') return timeErrorText(error);
  const points = (100 * error).toFixed(1);
  return `${Number(points) === 0 ? '±' : error < 0 ? '−' : '+'}${points.replace('-', '')} pp`;
}

/** As formatDeviation, but with a decimal up to 100 %, so that a limit can be read off. */
export function timeErrorText(error: number): string {
  const percent = (100 * error).toFixed(1);
  if (Math.abs(Number(percent)) >= 100 || Number(percent) === 0) return formatDeviation(1 + error);
  return `${error < 0 ? '−' : '+'}${percent.replace('-', '')} %`;
}

/** The middle of errors without sign: `3.8 %`, or `1.2 pp`. */
export function medianText(metric: string, error: number): string {
  return metric === 'memory-pressure' ? `${(100 * error).toFixed(1)} pp` : formatPercent(error);
}

/** `9.80…9.49 s`: the unit once where both have the same, and one value where they are alike. */
export function rangeText(metric: string, ends: readonly [Quantity | undefined, Quantity | undefined]): string {
  const [low, high] = [quantityText(metric, ends[0]), quantityText(metric, ends[1])];
  if (low === high) return high;
  const unit = high.split(' ')[1];
  return `${unit !== undefined && low.endsWith(` ${unit}`) ? low.split(' ')[0] : low}…${high}`;
}
