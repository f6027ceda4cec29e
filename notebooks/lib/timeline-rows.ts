import { formatBytes, formatSeconds } from '../../engine/input/format.ts';
import { type DrawnKind, type TimelineBar, timelineBars } from '../../engine/trace/timeline-bars.ts';
import { RESIDENT, type TimelineRow, timelineRows } from '../../engine/trace/timeline-rows.ts';
import { isProcessorLane, type Trace } from '../../engine/trace/trace.ts';

/** A trace prepared for looking at: its rows, its bars, and the moments at which something changes. */
export interface Laid {
  readonly trace: Trace;
  readonly seconds: number;
  readonly rows: readonly TimelineRow[];
  readonly bars: readonly TimelineBar[];
  /** In order of time, each once. */
  readonly moments: readonly number[];
}

/** Bars that are closer than this share of the time are drawn as one. */
const RESOLUTION = 1 / 2000;

export function layOut(trace: Trace): Laid {
  const seconds = [...trace.spans, ...trace.tokens].reduce((latest, { end }) => Math.max(latest, end), 0);
  const bars = timelineBars(trace, seconds * RESOLUTION);
  const edges = bars.flatMap(({ start, end }) => [start, end]).sort((one, other) => one - other);
  const moments = edges.filter((time, index) => index === 0 || time - (edges[index - 1] as number) > 1e-9);
  return { trace, seconds, rows: timelineRows(trace), bars, moments };
}

/** A place in a timeline: a row and a moment, seconds. */
export interface Place {
  readonly row: number;
  readonly time: number;
}

/** Bars of a row at a moment. */
function barsAt({ bars, rows }: Laid, { row, time }: Place): TimelineBar[] {
  const at = rows[row];
  return bars.filter(
    ({ device, lane, start, end }) => device === at?.device && lane === at.lane && start <= time && time < end,
  );
}

/** Edges of a row's bars, between which nothing changes. */
export function edgesOf({ bars, rows, moments, seconds }: Laid, row: number): number[] {
  const at = rows[row];
  if (at?.lane === 'memory') return [...moments];
  const own = bars.filter(({ device, lane }) => device === at?.device && lane === at.lane);
  return [...new Set([0, ...own.flatMap(({ start, end }) => [start, end]), seconds])].sort((one, other) => one - other);
}

/** The device that the token is on, and what happens to it there. */
function tokenAt(laid: Laid, time: number): string {
  const { bars } = laid;
  const now = bars.filter(({ start, end }) => start <= time && time < end);
  const worker = now.find(({ lane }) => isProcessorLane(lane));
  if (worker !== undefined)
    return worker.kind === 'stall'
      ? `the token is on ${worker.device}, which waits for its disk`
      : `the token is on ${worker.device}, which computes`;
  const sender = now.find(({ lane }) => lane === 'link');
  return sender === undefined ? 'the token is between two events' : `the token is on its way from ${sender.device}`;
}

/** Two or three sentences on what the place shows, and why it is so. */
export function explain(laid: Laid, place: Place): string {
  const row = laid.rows[place.row];
  if (row === undefined) return '';
  const { device, lane } = row;
  const when = `${device}, ${formatSeconds(place.time)}: `;
  if (lane === 'memory') return `${when}${memoryText(laid, device, place.time)}`;
  const found = barsAt(laid, place);
  if (found.length === 0) return `${when}${idleText(laid, row, place.time)}`;
  return `${when}${found.map((bar) => barText(laid, bar)).join(' ')}`;
}

/** Activity of each device at a moment, in a few words. */
export function doingAt(
  { trace, bars }: Laid,
  time: number,
): { readonly device: string; readonly processor: string; readonly disk: string; readonly memory: string }[] {
  const now = bars.filter(({ start, end }) => start <= time && time < end);
  return trace.devices.map(({ name }) => {
    const own = now.filter(({ device }) => device === name);
    const work = own.find(({ lane }) => isProcessorLane(lane));
    const reads = own.filter(({ lane }) => lane === 'disk').map(({ kind }) => READING[kind] ?? kind);
    return {
      device: name,
      processor: work === undefined ? 'bubble' : work.kind === 'stall' ? work.names[0] : `computes ${namesText(work)}`,
      disk: reads.length === 0 ? 'rests' : reads.join(', '),
      memory: formatBytes(residentAt(trace, name, time)),
    };
  });
}

const READING: Readonly<Partial<Record<DrawnKind, string>>> = {
  prefetch: 'reads ahead',
  awaited: 'reads, too late',
  'page-fault': 'page fault',
};

function namesText({ names: [first, last] }: TimelineBar): string {
  return first === last ? first : `${first} to ${last}`;
}

function residentAt({ counters }: Trace, device: string, time: number): number {
  const counter = counters.find((one) => one.device === device && one.name === RESIDENT);
  return counter?.samples.findLast((one) => one.time <= time)?.value ?? 0;
}

function memoryText({ trace }: Laid, device: string, time: number): string {
  return `${formatBytes(residentAt(trace, device, time))} of weights are in memory.`;
}

function idleText(laid: Laid, { device, lane }: TimelineRow, time: number): string {
  if (lane === 'link') return 'nothing is sent.';
  if (lane !== 'disk') {
    const reads = laid.bars.some(
      (bar) => bar.device === device && bar.lane === 'disk' && bar.start <= time && time < bar.end,
    );
    return `a bubble. The processor has nothing to do: ${tokenAt(laid, time)}. ${reads ? 'Its disk uses the time and reads ahead.' : 'Its disk rests as well.'}`;
  }
  return `the disk rests. No computation needs it, and there is no window left to prefetch; ${tokenAt(laid, time)}.`;
}

function barText(laid: Laid, bar: TimelineBar): string {
  const { kind, device, start, end, bytes, busySeconds } = bar;
  const took = formatSeconds(end - start);
  const rate = `${formatBytes(bytes)} in ${formatSeconds(busySeconds)}, ${(bytes / busySeconds / 1e9).toFixed(2)} GB/s`;
  const what = namesText(bar);
  switch (kind) {
    case 'computing':
      return `computes ${what}, for ${took}. Their weights are in memory.`;
    case 'stall':
      return `${what}, for ${took}: its weights are not in memory yet, and the whole ring waits with it.`;
    case 'prefetch':
      return `the disk reads ahead (${rate}). Nobody waits for it: ${tokenAt(laid, start)}. This reading is hidden.`;
    case 'awaited':
      return `the disk still reads ahead (${rate}), but ${device}’s processor already waits for it. This part is not hidden.`;
    case 'page-fault':
      return `a page fault: the disk reads what the processor needs right now (${rate}), and it waits.`;
    case 'copy':
      return `copies ${formatBytes(bytes)} between memories, for ${took}.`;
    case 'communication':
      return `sends the hidden state ${what} (${formatBytes(bytes)}, ${took}, most of it latency).`;
  }
}

/** Name of each kind of bar in legends, and its colour. */
export const KINDS: readonly (readonly [DrawnKind, string, string])[] = [
  ['computing', 'computes', 'var(--series-1)'],
  ['stall', 'waits for its disk', 'var(--series-7)'],
  ['prefetch', 'reads ahead, hidden', 'var(--series-3)'],
  ['awaited', 'reads ahead, too late', 'var(--series-5)'],
  ['page-fault', 'page fault', 'var(--series-2)'],
  ['copy', 'copies', 'var(--series-8)'],
  ['communication', 'sends', 'var(--series-4)'],
];
