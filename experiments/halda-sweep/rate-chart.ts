import type { Annotation } from 'plotly.js-dist-min';
import { publishedSystem } from '../../datasets/published-systems.ts';
import { threeDigits } from '../../engine/input/format.ts';
import { type Figure, type LineSeries, lineChart } from '../report/charts/chart.ts';
import { colour, INK, PALE } from '../report/charts/colours.ts';
import { markOf } from '../report/charts/scheduler-marks.ts';
import { fastest, plannedRows } from './best.ts';
import { ownSchedulers, planHover, tpotOf } from './charts.ts';
import type { SweepRow } from './sweep.ts';

/** Tokens per second of a plan for each model, `null` where there is none, and the marks that show them. */
interface Rates {
  /** Written at the mark of the largest model: above it and to one side, or below it. */
  readonly label: string;
  readonly side: keyof typeof SIDES;
  readonly rates: readonly (number | null)[];
  readonly hover: readonly string[];
  readonly colour: string;
  /** Tokens per second that a paper printed for the system that plans alike, and the system's name. */
  readonly published?: { readonly system: string; readonly rates: readonly (number | null)[] };
}

type Simulated = Pick<Rates, 'rates' | 'hover' | 'published'>;

/** Plans of one device, and the published systems next to whose figures they are drawn. */
const ALONE = 'single-device';
const TOGETHER = 'halda';

/** Pixels of a filled mark, and of the hollow one around it. */
const FILLED = 11;
const HOLLOW = 17;

/** Places of names; those on the left and on the right can't meet. */
const SIDES = {
  left: { xanchor: 'right', xshift: FILLED, yanchor: 'bottom', yshift: FILLED },
  right: { xanchor: 'left', xshift: -FILLED, yanchor: 'bottom', yshift: FILLED },
  below: { xanchor: 'center', yanchor: 'top', yshift: -FILLED },
} as const satisfies Readonly<Record<string, Partial<Annotation>>>;

/** Rates closer to the best plan's than this ratio have no number of their own. */
const APART = 1.15;

/**
 * Output tokens per second by model, the largest on top: what the devices write together and what one of them writes
 * alone, joined by a line, with a hollow mark for what a paper printed; and plans of one's own schedulers. Names stand at
 * the marks of the largest model, numbers at the marks of all.
 * @param models labels by size, the smallest first
 * @param devices number of devices in the cluster
 */
export function rateChart(rows: readonly SweepRow[], models: readonly string[], devices: number): Figure {
  const of = (scheduler: string) => ratesOf(rows, models, scheduler);
  const alone: Rates = { label: 'one device', side: 'left', colour: colour(7), ...of(devices > 1 ? ALONE : '') };
  const label = devices > 1 ? `up to ${devices} devices` : 'best plan';
  const together: Rates = { label, side: 'right', colour: colour(0), ...bestRates(rows, models) };
  // The first takes the place of one device's name where that isn't drawn.
  const sideOf = (index: number): Rates['side'] => (index === 0 && !isDrawn(alone) ? 'left' : 'below');
  const own = ownSchedulers(rows).map(
    (name, index): Rates => ({ label: name, side: sideOf(index), colour: markOf(name).colour, ...of(name) }),
  );
  const series = [alone, together, ...own].filter(isDrawn);
  const line = lineChart({
    x: { title: 'tokens per second (log scale)', scale: 'log', range: rangeOf(series) },
    y: { title: '', categories: models, ruled: true },
    height: 110 + 46 * models.length,
    series: [
      {
        ...{ name: 'gain', mode: 'lines', colour: PALE, width: 4 },
        x: models.flatMap((_, index) => [alone.rates[index] ?? null, together.rates[index] ?? null, null]),
        y: models.flatMap((model) => [model, model, model]),
      },
      ...series.flatMap(marksOf(models)),
    ],
  });
  const annotations = [...series.map(nameOf(models)), ...numbers(alone, together, models)];
  return { ...line, layout: { ...line.layout, showlegend: false, annotations } };
}

/** Rates of a scheduler's plans as simulated, and what is published for the system that divides layers alike. */
function ratesOf(rows: readonly SweepRow[], models: readonly string[], scheduler: string): Simulated {
  const own = models.map((model) => rows.find((row) => row.scheduler === scheduler && row.model.label === model));
  const system = publishedSystem(scheduler);
  return {
    rates: own.map((row) => rateOf(tpotOf(row, 'simulated'))),
    hover: own.map(planHover),
    ...(system !== undefined && { published: { system, rates: own.map((row) => rateOf(row?.published?.seconds)) } }),
  };
}

/** Rates of each model's fastest plan, and what is published for several devices. */
function bestRates(rows: readonly SweepRow[], models: readonly string[]): Simulated {
  const planned = plannedRows(rows);
  const best = models.map((model) => {
    const own = planned.filter((row) => row.model.label === model);
    return own.length === 0 ? undefined : fastest(own);
  });
  return {
    ...ratesOf(rows, models, TOGETHER),
    rates: best.map((row) => rateOf(row?.outcome.simulatedSeconds)),
    hover: best.map((row) => (row === undefined ? '' : `${row.scheduler}: ${planHover(row)}`)),
  };
}

function rateOf(seconds: number | undefined): number | null {
  return seconds === undefined ? null : 1 / seconds;
}

function isDrawn({ rates }: Rates): boolean {
  return rates.some((rate) => rate !== null);
}

/** Filled marks of plans, within hollow ones of what was published. */
function marksOf(models: readonly string[]): (one: Rates) => LineSeries[] {
  return (one) => [
    ...(one.published === undefined
      ? []
      : [
          {
            ...{ name: `${one.published.system} (published)`, colour: one.colour, mode: 'markers' as const },
            ...{ x: one.published.rates, y: models, symbol: 'circle-open' as const, symbolSize: HOLLOW },
          },
        ]),
    {
      ...{ name: one.label, colour: one.colour, mode: 'markers', symbol: 'circle', symbolSize: FILLED },
      ...{ x: one.rates, y: models, hover: one.hover },
    },
  ];
}

/** The ends of the axis: its outer parts have room for the numbers at the marks, also on a phone. */
function rangeOf(series: readonly Rates[]): [number, number] {
  const all = series.flatMap(({ rates, published }) => [...rates, ...(published?.rates ?? [])]);
  const drawn = all.filter((rate) => rate !== null);
  const [least, most] = [Math.min(...drawn), Math.max(...drawn)];
  const span = Math.max(most / least, 10);
  return [least / span ** 0.45, most * span ** 0.4];
}

/** The name of a series at the mark of the largest model that it has a plan for. */
function nameOf(models: readonly string[]): (one: Rates) => Partial<Annotation> {
  return ({ label, rates, colour, side }) => {
    const row = rates.findLastIndex((rate) => rate !== null);
    return { ...textAt(label, rates[row] as number, models[row] as string), ...SIDES[side], font: { color: colour } };
  };
}

/** Numbers at the marks: of the best plans on the right, of one device on the left where it is slower. */
function numbers(alone: Rates, together: Rates, models: readonly string[]): Partial<Annotation>[] {
  return models.flatMap((model, row): Partial<Annotation>[] => {
    const [less, most] = [alone.rates[row] ?? null, together.rates[row] ?? null];
    const right = Math.max(...[most, less, together.published?.rates[row] ?? null].map((rate) => rate ?? 0));
    const left = Math.min(
      ...[less, alone.published?.rates[row] ?? null].map((rate) => rate ?? Number.POSITIVE_INFINITY),
    );
    return [
      ...(most === null
        ? []
        : [{ ...textAt(`<b>${threeDigits(most)}</b>`, right, model), xanchor: 'left' as const, xshift: HOLLOW * 0.7 }]),
      ...(less === null || (most !== null && most / less < APART)
        ? []
        : [{ ...textAt(threeDigits(less), left, model), xanchor: 'right' as const, xshift: -HOLLOW * 0.7 }]),
    ];
  });
}

/** A text at a rate of a model; positions on a log axis are exponents. */
function textAt(text: string, rate: number, model: string): Partial<Annotation> {
  return { text, x: Math.log10(rate), y: model, showarrow: false, font: { color: INK } };
}
