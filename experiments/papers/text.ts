import { formatDeviation, formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { inPoints, OCTAVES, type Quantity } from './comparison.ts';

/** `15.0 ms`, `4.7 %` for a share, `OOM`, or nothing. */
export function quantityText(unit: string, quantity: Quantity | undefined): string {
  if (quantity === undefined) return '';
  if (typeof quantity !== 'number') return quantity;
  return inPoints(unit) ? formatPercent(quantity) : formatSeconds(quantity);
}

/** `−8.4 %`, or `−1.2 pp` (percentage points) for a share or a gain; nothing where there is no error. */
export function errorText(unit: string, error: number | undefined): string {
  if (error === undefined) return '';
  if (unit === OCTAVES) return `${error === 0 ? '±' : error < 0 ? '−' : '+'}${octavesText(Math.abs(error))}`;
  if (!inPoints(unit)) return relativeErrorText(error);
  const points = (100 * error).toFixed(1);
  return `${Number(points) === 0 ? '±' : error < 0 ? '−' : '+'}${points.replace('-', '')} pp`;
}

const octavesText = (octaves: number): string =>
  `${Number.isInteger(octaves) ? octaves : octaves.toFixed(1)} octave${octaves === 1 ? '' : 's'}`;

/** As formatDeviation, but with a decimal up to 100 %, so that a limit can be read off. */
export function relativeErrorText(error: number): string {
  const percent = (100 * error).toFixed(1);
  if (Math.abs(Number(percent)) >= 100 || Number(percent) === 0) return formatDeviation(1 + error);
  return `${error < 0 ? '−' : '+'}${percent.replace('-', '')} %`;
}

/** A median of errors without sign: `3.8 %`, or `1.2 pp`. */
export function medianText(unit: string, error: number): string {
  if (unit === OCTAVES) return octavesText(error);
  return inPoints(unit) ? `${(100 * error).toFixed(1)} pp` : formatPercent(error);
}

/** `9.80…9.49 s`: the unit once where both ends have the same, and one value where they are alike. */
export function rangeText(unit: string, ends: readonly [Quantity | undefined, Quantity | undefined]): string {
  const [low, high] = [quantityText(unit, ends[0]), quantityText(unit, ends[1])];
  if (low === high) return high;
  const suffix = high.split(' ')[1];
  return `${suffix !== undefined && low.endsWith(` ${suffix}`) ? low.split(' ')[0] : low}…${high}`;
}

/** `±5.0 %`: a noise or a target. */
export function halfWidthText(unit: string, error: number | undefined): string {
  return errorText(unit, error).replace('+', '±');
}
