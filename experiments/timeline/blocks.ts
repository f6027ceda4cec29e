import { type DeviceMetrics, metrics } from '../../engine/trace/metrics.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Block, TableBlock } from '../report/page/page.ts';
import { timelineFigure } from './figure.ts';

export interface Timeline {
  readonly title: string;
  /** Explanation of the timeline. */
  readonly note?: string;
  readonly trace: Trace;
}

/** The explanation of timelines for a page. */
export const HOW_TO_READ =
  'Time runs to the right; each device has a band with rows for its processors, its disk, its link, and the weights in its memory. Green reading is overlapped: it happens alongside other work. Orange reading is not: the hatched stretch above it is a processor that waits, dark orange for a page fault, light orange for a prefetch that comes late. White in all rows of a band but the last is a bubble.';

/** Timelines one below the other on the same time axis, then a folded table with the work of each device. */
export function timelineBlocks(timelines: readonly Timeline[]): Block[] {
  const seconds = Math.max(...timelines.map(({ trace }) => metrics(trace).seconds));
  const charts = timelines.map(({ title, note, trace }): Block => {
    const figure = timelineFigure(trace, seconds);
    return { kind: 'chart', title, ...(note !== undefined && { note }), variants: [{ label: title, figure }] };
  });
  return [...charts, deviceTable(timelines)];
}

/** The work of one device in one timeline. */
interface DeviceRow extends DeviceMetrics {
  readonly timeline: string;
  readonly computingSeconds: number;
  readonly readingSeconds: number;
}

const COLUMNS: readonly Column<DeviceRow>[] = [
  { title: 'timeline', value: ({ timeline }) => timeline, label: true },
  { title: 'device', value: ({ device }) => device, label: true },
  { title: 'computing', value: ({ computingSeconds }) => computingSeconds, unit: 'seconds' },
  { title: 'waits for the disk', value: ({ stallSeconds }) => stallSeconds, unit: 'seconds' },
  { title: 'waits for others', value: ({ bubbleSeconds }) => bubbleSeconds, unit: 'seconds' },
  { title: '… while nothing is read', value: ({ idleSeconds }) => idleSeconds, unit: 'seconds' },
  { title: 'disk busy', value: ({ readingSeconds }) => readingSeconds, unit: 'seconds' },
  { title: 'by page faults', value: ({ faultedBytes }) => faultedBytes, unit: 'bytes' },
  { title: 'by prefetching', value: ({ prefetchedBytes }) => prefetchedBytes, unit: 'bytes' },
];

function deviceTable(timelines: readonly Timeline[]): TableBlock {
  const rows = timelines.flatMap(({ title, trace }) => {
    const { devices, lanes } = metrics(trace);
    return devices.map((one): DeviceRow => {
      const busy = (...among: readonly string[]): number =>
        lanes
          .filter(({ device, lane }) => device === one.device && among.includes(lane))
          .reduce((sum, { busySeconds }) => sum + busySeconds, 0);
      return { ...one, timeline: title, computingSeconds: busy('cpu', 'gpu', 'npu'), readingSeconds: busy('disk') };
    });
  });
  const fold = 'What each device did, in seconds and bytes of the time shown';
  return tableBlock({ columns: COLUMNS, rows, groups: true }, { fold });
}
