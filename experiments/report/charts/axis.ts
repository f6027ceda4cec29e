import type { LayoutAxis } from 'plotly.js-dist-min';
import { GRID, RULE } from './colours.ts';

export interface Axis {
  /** With the unit: `TPOT (ms)`. */
  readonly title: string;
  readonly scale?: 'linear' | 'log';
  /** The labels in order, for an axis without numbers. */
  readonly categories?: readonly string[];
  /** Grid lines through the labels, for points that stand far from them. */
  readonly ruled?: boolean;
  readonly range?: readonly [number, number];
}

/** A Plotly axis in the common style; a log axis without a range is fitted to `values`. */
export function axisOf(
  { title, scale = 'linear', categories, ruled = false, range }: Axis,
  values: readonly number[],
): Partial<LayoutAxis> {
  const common: Partial<LayoutAxis> = {
    title: { text: title, standoff: 12, font: { size: 13 } },
    automargin: true,
    gridcolor: GRID,
    linecolor: RULE,
    ticks: 'outside',
    tickcolor: RULE,
    zeroline: false,
  };
  if (categories !== undefined) {
    const room: Partial<LayoutAxis> = ruled ? { range: [-0.6, categories.length - 0.4] } : {};
    return {
      ...common,
      type: 'category',
      categoryorder: 'array',
      categoryarray: [...categories],
      showgrid: ruled,
      ...room,
    };
  }
  if (scale === 'linear')
    return {
      ...common,
      type: 'linear',
      rangemode: 'tozero',
      separatethousands: true,
      ...(range && { range: [...range] }),
    };
  const [least, most] = range ?? padded(values);
  const ticks = logTicks(least, most);
  return {
    ...common,
    type: 'log',
    range: [Math.log10(least), Math.log10(most)],
    tickvals: ticks,
    ticktext: ticks.map((tick) => tick.toLocaleString('en-US', { maximumFractionDigits: 6 })),
  };
}

/** The ends of the data with a tenth of a decade of room on either side. */
function padded(values: readonly number[]): [number, number] {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return [1, 10];
  const room = 10 ** 0.1;
  return [Math.min(...positive) / room, Math.max(...positive) * room];
}

/** Ticks of a log axis: powers of ten, with and, the fewer decades are shown, the more values between them. */
export function logTicks(least: number, most: number): number[] {
  const decades = Math.log10(most / least);
  const steps = decades < 1.3 ? [1, 1.5, 2, 3, 4, 5, 7] : decades < 4 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let decade = Math.floor(Math.log10(least)); decade <= Math.ceil(Math.log10(most)); decade++) {
    for (const step of steps) {
      const tick = Number(`${step}e${decade}`);
      if (tick >= least && tick <= most) ticks.push(tick);
    }
  }
  return ticks;
}
