import type { Figure, LineSeries, MarkSymbol } from '../report/charts/chart.ts';
import { SYMBOLS } from '../report/charts/chart.ts';
import { colour, PALE } from '../report/charts/colours.ts';
import { scatterChart } from '../report/charts/scatter.ts';
import type { Answer, Comparison } from './comparison.ts';

/** Marks of one colour; hollow where they prove less. */
export interface MarkSeries<One extends Comparison> {
  readonly name: string;
  readonly comparisons: readonly One[];
  /** Index of colour and mark; undefined for pale ones, about which nothing is claimed. */
  readonly index: number | undefined;
  readonly hollow: boolean;
}

export interface AgainstPublished<One extends Comparison> {
  readonly answer: Answer;
  readonly quantity: string;
  /** Half-width of the band around the diagonal, a share. */
  readonly band: number;
  readonly series: readonly MarkSeries<One>[];
  /** Seconds of a figure of the comparison. */
  readonly seconds: (figure: number, one: One) => number;
  readonly hover: (one: One) => string;
  /** Milliseconds that both axes include at least. */
  readonly least?: readonly [low: number, high: number];
}

/**
 * Published times against predicted or simulated ones on log axes, with a band around equality: points above it are too
 * slow.
 */
export function againstPublished<One extends Comparison>(chart: AgainstPublished<One>): Figure {
  const { answer, quantity, band, seconds, hover } = chart;
  const milliseconds = (figure: unknown, one: One): number =>
    typeof figure === 'number' ? 1000 * seconds(figure, one) : Number.NaN;
  const published = (one: One): number => milliseconds(one.published, one);
  const found = (one: One): number => milliseconds(one[answer], one);
  const shown = chart.series.flatMap(({ comparisons, ...series }) => {
    const own = comparisons.filter((one) => !Number.isNaN(published(one)) && !Number.isNaN(found(one)));
    return own.length === 0 ? [] : [{ ...series, own }];
  });
  const all = shown.flatMap(({ own }) => own.flatMap((one) => [published(one), found(one)]));
  const [low, high] = chart.least ?? [Number.POSITIVE_INFINITY, 0];
  return scatterChart({
    x: `published${quantity} (ms)`,
    y: `${answer}${quantity} (ms)`,
    band,
    bandName: `±${100 * band} %`,
    range: [Math.min(...all, low) / 1.3, Math.max(...all, high) * 1.3],
    height: 560,
    series: shown.map(
      ({ name, index, hollow, own }): LineSeries => ({
        name,
        colour: index === undefined ? PALE : colour(index),
        mode: 'markers',
        symbol: symbolOf(index ?? 0, hollow),
        symbolSize: index === undefined ? 6 : 8,
        x: own.map(published),
        y: own.map(found),
        hover: own.map(hover),
      }),
    ),
  });
}

function symbolOf(index: number, hollow: boolean): MarkSymbol {
  const symbol = SYMBOLS[index % SYMBOLS.length] ?? 'circle';
  return hollow ? `${symbol}-open` : symbol;
}
