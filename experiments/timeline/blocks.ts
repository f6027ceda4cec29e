import { formatBytes, formatSeconds } from '../../engine/terminal/format.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Block, ReportColumn, TableBlock } from '../lib/report.ts';
import { timelineFigure } from './figure.ts';

export interface Timeline {
  readonly title: string;
  /** What is to be seen. */
  readonly note?: string;
  readonly trace: Trace;
}

/** How a timeline is read, for the page that shows the first one. */
export const HOW_TO_READ =
  'Time runs to the right; each device has a band with rows for its processors, its disk, its link, and the weights in its memory. Green reading is overlapped: it happens beside other work. Orange reading is not: the hatched stretch above it is a processor that waits, dark orange for a page fault, light orange for a prefetch that comes late. White in all rows of a band but the last is a bubble.';

/** For any report: timelines below one another on the same time axis, then what each device did in them, folded. */
export function timelineBlocks(timelines: readonly Timeline[]): Block[] {
  const seconds = Math.max(...timelines.map(({ trace }) => metrics(trace).seconds));
  const charts = timelines.map(({ title, note, trace }): Block => {
    const figure = timelineFigure(trace, seconds);
    return { kind: 'chart', title, ...(note !== undefined && { note }), variants: [{ label: title, figure }] };
  });
  return [...charts, deviceTable(timelines)];
}

const COLUMNS: readonly ReportColumn[] = [
  { title: 'timeline', label: true },
  { title: 'device', label: true },
  { title: 'computing', align: 'right' },
  { title: 'waits for the disk', align: 'right' },
  { title: 'waits for others', align: 'right' },
  { title: '… while nothing is read', align: 'right' },
  { title: 'disk busy', align: 'right' },
  { title: 'by page faults', align: 'right' },
  { title: 'by prefetching', align: 'right' },
];

function deviceTable(timelines: readonly Timeline[]): TableBlock {
  const rows = timelines.flatMap(({ title, trace }) => {
    const { devices, lanes } = metrics(trace);
    return devices.map(({ device, stallSeconds, bubbleSeconds, idleSeconds, faultedBytes, prefetchedBytes }) => {
      const own = lanes.filter((lane) => lane.device === device);
      const busy = (among: readonly string[]): number =>
        own.filter(({ lane }) => among.includes(lane)).reduce((sum, lane) => sum + lane.busySeconds, 0);
      return [
        title,
        device,
        ...[busy(['cpu', 'gpu', 'npu']), stallSeconds, bubbleSeconds, idleSeconds, busy(['disk'])].map(formatSeconds),
        ...[faultedBytes, prefetchedBytes].map(formatBytes),
      ];
    });
  });
  return {
    kind: 'table',
    fold: 'What each device did, in seconds and bytes of the time shown',
    columns: COLUMNS,
    rows,
    groups: true,
  };
}
