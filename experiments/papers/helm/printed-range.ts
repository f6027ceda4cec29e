import type { PublishedCell } from '../../../datasets/published.ts';
import { helmQuantity, inUnit, secondsOf } from './quantities.ts';

/**
 * From the least to the most that the thesis prints of one quantity, its rounding included, in the unit of `cell`: within
 * it the thesis contradicts itself, and no model can do better. Undefined for outcomes.
 * @param prints all cells of the quantity, `cell` among them
 */
export function printedRange(
  cell: PublishedCell,
  prints: readonly PublishedCell[],
): readonly [number, number] | undefined {
  const ends = prints.flatMap((print) => {
    const batch = helmQuantity(print)?.batch ?? 1;
    const { value, unit } = print;
    if (typeof value !== 'number') return [];
    const half = roundingOf(print);
    return [value - half, value + half].map((end) => inUnit(secondsOf(end, unit, batch), cell.unit, batch));
  });
  return typeof cell.value === 'number' && ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : undefined;
}

/** Half of the last printed digit: noise that comes of other tables is what the range itself shows. */
function roundingOf({ value, noise = 0, noiseFrom }: PublishedCell): number {
  if (noiseFrom === 'rounding') return noise;
  const [, decimals = ''] = String(value).split('.');
  return 0.5 * 10 ** -decimals.length;
}
