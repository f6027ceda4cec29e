import type { Annotation, Data, Shape } from 'plotly.js-dist-min';
import { formatBytes, formatSeconds } from '../../engine/input/format.ts';
import { type DrawnKind, type TimelineBar, timelineBars } from '../../engine/trace/timeline-bars.ts';
import { type TimelineRow, timelineRows } from '../../engine/trace/timeline-rows.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { type Figure, layoutOf } from '../report/charts/chart.ts';
import { INK, PALE, PALETTE, SURFACE } from '../report/charts/colours.ts';
import { memoryLines } from './memory.ts';

interface KindStyle {
  readonly label: string;
  readonly colour: string;
  /** Waiting is drawn hatched, since it is not work. */
  readonly hatched?: boolean;
  /** Share of a row's height; lower for page faults, so that a prefetch at the same time stays visible. */
  readonly height: number;
}

/**
 * In the order of the legend. As in prima.cpp's Fig. 6, green is reading that is overlapped, and two kinds of orange
 * are
 * reading that is not.
 */
const STYLES: Readonly<Record<DrawnKind, KindStyle>> = {
  computing: { label: 'computing', colour: PALETTE[0], height: 0.84 },
  copy: { label: 'copy between memories', colour: PALETTE[5], height: 0.84 },
  stall: { label: 'waits for the disk', colour: PALETTE[1], hatched: true, height: 0.84 },
  prefetch: { label: 'prefetch (overlapped)', colour: PALETTE[2], height: 0.84 },
  awaited: { label: 'late prefetch', colour: PALETTE[4], height: 0.84 },
  'page-fault': { label: 'page fault', colour: PALETTE[1], height: 0.6 },
  communication: { label: 'communication', colour: PALETTE[3], height: 0.84 },
};

/** Smallest visible gap or bar, as a share of the width. */
const RESOLUTION = 1 / 1000;
const ROW_PIXELS = 17;
const MARGIN = { l: 70, r: 76, t: 30, b: 44 };
/** Height above the first row for the tokens' times. */
const HEAD = 1.6;

/**
 * A trace drawn like prima.cpp's Fig. 6: time runs to the right, each device has a band with a row for
 * every processor, its disk, its link, and what is in its memory. Rules mark where tokens end.
 * @param seconds end of the time axis; timelines with the same end can be compared by eye
 */
export function timelineFigure(trace: Trace, seconds: number): Figure {
  const rows = timelineRows(trace);
  const bars = timelineBars(trace, seconds * RESOLUTION);
  const yOf = new Map(rows.map(({ device, lane, y }) => [JSON.stringify([device, lane]), y]));
  const data = Object.entries(STYLES).flatMap(([kind, style]): Data[] => {
    const own = bars.filter((bar) => bar.kind === kind);
    return own.length === 0 ? [] : [barsOf(style, own, yOf)];
  });
  const memory = memoryLines(trace, rows, seconds * RESOLUTION);
  const bottom = (rows.at(-1)?.y ?? 0) + 0.6;
  const height = MARGIN.t + MARGIN.b + ROW_PIXELS * (bottom + HEAD);
  const layout = layoutOf({ x: { title: 'time (s)', range: [0, seconds] }, y: { title: '' }, height }, [], []);
  return {
    data: [...data, ...memory.data],
    layout: {
      ...layout,
      margin: MARGIN,
      barmode: 'overlay',
      bargap: 0,
      hovermode: 'closest',
      legend: { orientation: 'h', x: 0, y: 1, yanchor: 'bottom', font: { size: 12 } },
      yaxis: {
        ...layout.yaxis,
        range: [bottom, -HEAD],
        tickvals: rows.map(({ y }) => y),
        ticktext: rowLabels(rows),
        tickfont: { size: 11 },
        ticks: '',
        showgrid: false,
        fixedrange: true,
      },
      shapes: [...tokenRules(trace), ...separators(rows)],
      annotations: [...tokenLabels(trace, seconds), ...memory.annotations],
    },
  };
}

function barsOf(
  { label, colour, hatched, height }: KindStyle,
  bars: readonly TimelineBar[],
  yOf: Map<string, number>,
): Data {
  return {
    type: 'bar',
    name: label,
    orientation: 'h',
    base: bars.map(({ start }) => start),
    x: bars.map(({ start, end }) => end - start),
    y: bars.map(({ device, lane }) => yOf.get(JSON.stringify([device, lane])) ?? null),
    width: height,
    // A line as wide as a pixel keeps the shortest bars visible.
    marker: {
      color: colour,
      line: { color: colour, width: 0.8 },
      ...(hatched && { pattern: { shape: '/', size: 5, solidity: 0.25, fgcolor: colour, bgcolor: SURFACE } }),
    },
    customdata: bars.map(hoverText),
    hovertemplate: '%{customdata}<extra>%{fullData.name}</extra>',
  };
}

function hoverText({ device, lane, start, end, busySeconds, bytes, names }: TimelineBar): string {
  const [first, last] = names;
  const name = first === last ? first : `${first} … ${last}`;
  const seconds = formatSeconds(busySeconds);
  const took = busySeconds < 0.999 * (end - start) ? `${seconds} of ${formatSeconds(end - start)}` : seconds;
  const read = bytes === 0 ? '' : `<br>${formatBytes(bytes)}`;
  return `<b>${device}</b> ${lane}: ${name}<br>at ${formatSeconds(start)} for ${took}${read}`;
}

/** The first row of a device shows its name. */
function rowLabels(rows: readonly TimelineRow[]): string[] {
  return rows.map(({ device, lane }, index) =>
    rows[index - 1]?.device === device ? lane : `<b>${device}</b>\u2002${lane}`,
  );
}

function tokenRules({ tokens }: Trace): Partial<Shape>[] {
  return tokens.map(({ end }) => ({
    type: 'line',
    x0: end,
    x1: end,
    yref: 'paper',
    y0: 0,
    y1: 1,
    line: { color: INK, width: 1, dash: 'dot' },
  }));
}

/** Shares of the width that a token's label needs, with and without the word. */
const ROOM = { word: 0.16, number: 0.08 };

function tokenLabels({ tokens }: Trace, seconds: number): Partial<Annotation>[] {
  return tokens.flatMap(({ start, end }) => {
    const share = (end - start) / seconds;
    if (share < ROOM.number) return [];
    const text = formatSeconds(end - start);
    return [
      {
        text: share < ROOM.word ? text : `token: ${text}`,
        showarrow: false,
        x: end,
        xanchor: 'right' as const,
        y: -1,
        font: { size: 12, color: INK },
      },
    ];
  });
}

/** Thin rules between devices. */
function separators(rows: readonly TimelineRow[]): Partial<Shape>[] {
  return rows.flatMap(({ device, y }, index) => {
    const before = rows[index - 1];
    if (before === undefined || before.device === device) return [];
    const middle = (before.y + y) / 2;
    return [
      {
        type: 'line' as const,
        xref: 'paper' as const,
        x0: 0,
        x1: 1,
        y0: middle,
        y1: middle,
        line: { color: PALE, width: 1 },
      },
    ];
  });
}
