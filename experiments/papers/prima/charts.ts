import { formatSeconds } from '../../../engine/terminal/format.ts';
import { colour, type Figure, type LineSeries, SYMBOLS } from '../../lib/chart.ts';
import { USUAL_LIMIT } from '../../lib/error-tone.ts';
import { scatterChart } from '../../lib/scatter-chart.ts';
import { systemName, timeErrorText } from '../text.ts';
import type { Comparison } from './rules.ts';

const PALE = '#cbd2d9';

export type Answer = 'predicted' | 'simulated';

/** A comparison in which both sides have a time. */
interface Point {
  readonly comparison: Comparison;
  /** Milliseconds. */
  readonly published: number;
  readonly found: number;
}

/**
 * Published TPOT against what was found, on log axes, with a band of ±25 %: points above it are too slow. Cells about
 * which something is claimed have the colour of their system; the others are pale.
 */
export function againstPublished(comparisons: readonly Comparison[], answer: Answer): Figure {
  const points = comparisons.flatMap((comparison): Point[] => {
    const { cell, policy, published, [answer]: found } = comparison;
    const shown = cell.metric === 'tpot' && policy?.claimed === true;
    if (!shown || typeof published !== 'number' || typeof found !== 'number') return [];
    return [{ comparison, published: published * 1000, found: found * 1000 }];
  });
  const all = points.flatMap(({ published, found }) => [published, found]);
  const range: [number, number] = [Math.min(...all, 10) / 1.3, Math.max(...all, 100) * 1.3];
  const aimed = points.filter(({ comparison }) => comparison.target !== undefined);
  const others = points.filter(({ comparison }) => comparison.target === undefined);
  return scatterChart({
    x: 'published TPOT (ms)',
    y: `${answer} TPOT (ms)`,
    band: USUAL_LIMIT,
    bandName: `±${100 * USUAL_LIMIT} %`,
    range,
    height: 560,
    series: [
      ...(others.length === 0 ? [] : [marks('nothing claimed', others, answer, PALE, 'circle', 6)]),
      ...systemSeries(aimed, answer),
    ],
  });
}

/** A colour and a mark per system; its first policy has filled marks. */
function systemSeries(points: readonly Point[], answer: Answer): LineSeries[] {
  const systems = [...new Set(points.map(({ comparison }) => comparison.cell.system))];
  return systems.flatMap((system, index) => {
    const own = points.filter(({ comparison }) => comparison.cell.system === system);
    const policies = [...new Set(own.map(({ comparison }) => comparison.policy?.name ?? ''))];
    const symbol = SYMBOLS[index % SYMBOLS.length] ?? 'circle';
    return policies.map((policy, at) =>
      marks(
        `${systemName(system)}: ${policy}`,
        own.filter(({ comparison }) => comparison.policy?.name === policy),
        answer,
        colour(index),
        at === 0 ? symbol : `${symbol}-open`,
        8,
      ),
    );
  });
}

function marks(
  name: string,
  points: readonly Point[],
  answer: Answer,
  tint: string,
  symbol: NonNullable<LineSeries['symbol']>,
  symbolSize: number,
): LineSeries {
  return {
    name,
    colour: tint,
    mode: 'markers',
    symbol,
    symbolSize,
    x: points.map(({ published }) => published),
    y: points.map(({ found }) => found),
    hover: points.map((point) => hoverText(point, answer)),
  };
}

function hoverText({ comparison, published, found }: Point, answer: Answer): string {
  const { table, row, system } = comparison.cell;
  const times = `published ${formatSeconds(published / 1000)}, ${answer} ${formatSeconds(found / 1000)}`;
  return `${table}, ${row}, ${systemName(system)}: ${times} (${timeErrorText(found / published - 1)})`;
}
