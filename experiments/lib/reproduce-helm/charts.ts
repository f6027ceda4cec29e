import { colour, type Figure, type LineSeries, SYMBOLS } from '../chart.ts';
import { scatterChart } from '../scatter-chart.ts';
import { type HelmComparison, publishedSeconds } from './comparisons.ts';
import { helmGroups } from './groups.ts';
import { secondsOf } from './quantities.ts';

const BAND = 0.12;

/** Published seconds against the answer’s, a colour and a mark per group; cells that were fitted to are hollow. */
export function helmScatter(comparisons: readonly HelmComparison[], answer: 'predicted' | 'simulated'): Figure {
  const found = (one: HelmComparison): number => {
    const value = one[answer];
    return typeof value === 'number' ? 1000 * secondsOf(value, one.cell.unit, one.quantity.batch) : Number.NaN;
  };
  const published = (one: HelmComparison): number => 1000 * (publishedSeconds(one) ?? Number.NaN);
  const groups = helmGroups(comparisons).filter(({ comparisons: own }) => own.some((one) => !Number.isNaN(found(one))));
  const all = groups.flatMap(({ comparisons: own }) => own.flatMap((one) => [found(one), published(one)]));
  const numbers = all.filter((value) => !Number.isNaN(value));
  const series = groups.flatMap(({ name, comparisons: own }, index): LineSeries[] =>
    (['held-out', 'fit'] as const).flatMap((basis) => {
      const shown = own.filter((one) => one.basis === basis && !Number.isNaN(found(one)));
      if (shown.length === 0) return [];
      const symbol = SYMBOLS[index % SYMBOLS.length] ?? 'circle';
      return [
        {
          name: basis === 'fit' ? `${name} (fit)` : name,
          colour: colour(index),
          mode: 'markers' as const,
          symbol: basis === 'fit' ? (`${symbol}-open` as const) : symbol,
          symbolSize: 8,
          x: shown.map(published),
          y: shown.map(found),
          hover: shown.map((one) => `${one.cell.table}, ${one.cell.row}: ${one.cell.column}<br>${hover(one, answer)}`),
        },
      ];
    }),
  );
  return scatterChart({
    x: 'published (ms)',
    y: `${answer} (ms)`,
    band: BAND,
    bandName: `±${100 * BAND} %`,
    range: [Math.min(...numbers) / 1.3, Math.max(...numbers) * 1.3],
    series,
    height: 620,
  });
}

function hover({ cell, published, predicted, simulated }: HelmComparison, answer: string): string {
  const value = answer === 'predicted' ? predicted : simulated;
  return `published ${published} ${cell.unit}, ${answer} ${typeof value === 'number' ? value.toPrecision(3) : value}`;
}
