import type { Annotation, Data } from 'plotly.js-dist-min';
import { formatBytes, formatSeconds } from '../../engine/input/format.ts';
import { RESIDENT, type TimelineRow } from '../../engine/trace/timeline-rows.ts';
import type { Counter, Trace } from '../../engine/trace/trace.ts';

const COLOUR = '#7F7F7F';
/** Half the height of the largest value, as a share of a row. */
const HALF = 0.42;

interface Point {
  readonly time: number;
  readonly value: number;
}

/** Resident weights over time, as areas in rows of their own; a device's largest value has full height. */
export function memoryLines(
  { counters, spans }: Trace,
  rows: readonly TimelineRow[],
  resolution: number,
): { data: Data[]; annotations: Partial<Annotation>[] } {
  const end = spans.reduce((latest, span) => Math.max(latest, span.end), 0);
  const shown = rows.flatMap(({ device, lane, y }) => {
    const counter = counters.find((one) => one.device === device && one.name === RESIDENT);
    if (lane !== 'memory' || counter === undefined) return [];
    return [{ device, y, points: thin(counter, resolution), most: mostOf(counter) }];
  });
  return {
    data: shown.map(({ device, y, points, most }, index): Data => {
      const held = points.at(-1);
      const corners = cornersOf(held === undefined ? [] : [...points, { time: end, value: held.value }]);
      const first = points[0]?.time ?? 0;
      return {
        type: 'scatter',
        mode: 'lines',
        name: 'weights in memory',
        legendgroup: 'memory',
        showlegend: index === 0,
        x: [first, ...corners.map(({ time }) => time), end],
        y: [y + HALF, ...corners.map(({ value }) => y + HALF - (2 * HALF * value) / Math.max(1, most)), y + HALF],
        fill: 'toself',
        fillcolor: 'rgba(127, 127, 127, 0.25)',
        line: { color: COLOUR, width: 1 },
        hoveron: 'points',
        customdata: ['', ...corners.map((corner) => hoverText(device, corner)), ''],
        hovertemplate: '%{customdata}<extra>weights in memory</extra>',
      };
    }),
    annotations: shown.map(({ y, most }) => ({
      text: `≤ ${formatBytes(most)}`,
      showarrow: false,
      xref: 'paper',
      x: 1,
      xanchor: 'left',
      y,
      font: { size: 11, color: COLOUR },
    })),
  };
}

/** Keeps the last of samples that are too close to be told apart. */
function thin({ samples }: Counter, resolution: number): Point[] {
  return samples.filter(({ time }, index) => {
    const next = samples[index + 1];
    return next === undefined || Math.floor(next.time / resolution) !== Math.floor(time / resolution);
  });
}

function mostOf({ samples }: Counter): number {
  return samples.reduce((most, { value }) => Math.max(most, value), 0);
}

/** Each value holds until the next. */
function cornersOf(points: readonly Point[]): Point[] {
  return points.flatMap((point, index) => {
    const before = points[index - 1];
    return before === undefined ? [point] : [{ time: point.time, value: before.value }, point];
  });
}

function hoverText(device: string, { time, value }: Point): string {
  return `<b>${device}</b> memory<br>at ${formatSeconds(time)}: ${formatBytes(value)} of weights`;
}
