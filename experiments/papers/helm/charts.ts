import { colour, type Figure, type LineSeries, SYMBOLS } from '../../lib/chart.ts';
import { scatterChart } from '../../lib/scatter-chart.ts';
import { helmSystemName } from './groups.ts';
import { secondsOf } from './quantities.ts';
import { type HelmComparison, publishedSeconds } from './rules.ts';

const BAND = 0.12;

/** Published seconds against the answer’s, a colour and a mark per system; cells that were fitted to are hollow. */
export function helmScatter(comparisons: readonly HelmComparison[], answer: 'predicted' | 'simulated'): Figure {
  const found = (one: HelmComparison): number => {
    const value = one[answer];
    return typeof value === 'number' ? 1000 * secondsOf(value, one.cell.unit, one.quantity.batch) : Number.NaN;
  };
  const published = (one: HelmComparison): number => 1000 * (publishedSeconds(one) ?? Number.NaN);
  const shown = comparisons.filter((one) => !Number.isNaN(found(one)) && !Number.isNaN(published(one)));
  const numbers = shown.flatMap((one) => [found(one), published(one)]);
  const names = [...new Set(shown.map(seriesName))];
  const series = names.flatMap((name, index): LineSeries[] =>
    (['held-out', 'fit'] as const).flatMap((basis) => {
      const own = shown.filter((one) => one.basis === basis && seriesName(one) === name);
      if (own.length === 0) return [];
      const symbol = SYMBOLS[index % SYMBOLS.length] ?? 'circle';
      return [
        {
          name: basis === 'fit' ? `${name} (fit)` : name,
          colour: colour(index),
          mode: 'markers' as const,
          symbol: basis === 'fit' ? (`${symbol}-open` as const) : symbol,
          symbolSize: 8,
          x: own.map(published),
          y: own.map(found),
          hover: own.map((one) => `${one.cell.table}, ${one.cell.row}: ${one.cell.column}<br>${hover(one, answer)}`),
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
    height: 560,
  });
}

/** Few enough to be told apart. */
function seriesName({ quantity: { system, kind, batch } }: HelmComparison): string {
  const name = helmSystemName(system);
  if (system !== 'helm') return name;
  if (batch > 1) return `${name}, batches`;
  return kind === 'first' ? `${name}, TTFT` : `${name}, decoding`;
}

function hover({ cell, published, predicted, simulated }: HelmComparison, answer: string): string {
  const value = answer === 'predicted' ? predicted : simulated;
  return `published ${published} ${cell.unit}, ${answer} ${typeof value === 'number' ? value.toPrecision(3) : value}`;
}
