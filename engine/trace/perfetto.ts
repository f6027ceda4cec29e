import { rowsWithoutOverlap } from './intervals.ts';
import type { Lane, Span, SpanArguments, Trace, TracedDevice } from './trace.ts';

/** An event of Chrome's trace-event format: `X` a span, `C` a counter's sample, `M` a name. Times in microseconds. */
export interface ChromeEvent {
  readonly ph: 'X' | 'C' | 'M';
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: SpanArguments;
}

/** A trace in the format of Chrome and Perfetto. */
export interface ChromeTrace {
  readonly traceEvents: readonly ChromeEvent[];
  readonly displayTimeUnit: 'ms';
  /** When the trace began, in seconds since 1970, to match it with other recordings of the same run. */
  readonly otherData?: { readonly startedAt: number };
}

/**
 * Converts a trace to the format that ui.perfetto.dev and chrome://tracing open (Trace Event Format, Google 2016): one
 * process per device, one thread per lane, and one process on top for the tokens. Spans of a lane that overlap go to
 * further threads (`disk`, `disk 2`), since viewers expect the spans of one thread to be nested or disjoint. Write the
 * result with JSON.stringify.
 * @throws RangeError if a span or counter names a device or lane that the trace doesn't list
 */
export function perfettoTrace({ devices, spans, tokens, counters }: Trace): ChromeTrace {
  const processOf = (name: string): number => {
    const index = devices.findIndex((device) => device.name === name);
    if (index < 0) throw new RangeError(`the trace does not list the device "${name}"`);
    return index + 1;
  };
  const threads = new Map<Span, number>();
  const names: ChromeEvent[] = [];
  const tokensProcess = devices.length + 1;
  if (tokens.length > 0)
    names.push(...nameProcess(tokensProcess, 'tokens', 0), ...nameThread(tokensProcess, 1, 'tokens'));
  devices.forEach((device, index) => {
    names.push(...nameProcess(index + 1, device.name, index + 1));
    names.push(...layOut(device, index + 1, spans, threads));
  });
  const events = tokens.map(({ phase, start, end }, index): ChromeEvent => {
    return { ph: 'X', name: `token ${index}`, cat: phase, pid: tokensProcess, tid: 1, ...times(start, end) };
  });
  for (const span of spans) {
    const { device, lane, cause, name, start, end, args } = span;
    const pid = processOf(device);
    const tid = threads.get(span);
    if (tid === undefined) throw new RangeError(`the trace does not list the lane "${lane}" of "${device}"`);
    events.push({ ph: 'X', name: `${cause}: ${name}`, cat: cause, pid, tid, ...times(start, end), args });
  }
  for (const { device, name, samples } of counters) {
    const pid = processOf(device);
    for (const { time, value } of samples)
      events.push({ ph: 'C', name, pid, ts: inMicroseconds(nanoseconds(time)), args: { value } });
  }
  return { traceEvents: [...names, ...events], displayTimeUnit: 'ms' };
}

/** Assigns a device's spans to threads, lane by lane; returns the events that name the threads. */
function layOut(
  { name, lanes }: TracedDevice,
  pid: number,
  spans: readonly Span[],
  threads: Map<Span, number>,
): ChromeEvent[] {
  let next = 1;
  return lanes.flatMap((lane: Lane) => {
    const first = next;
    const own = spans.filter((span) => span.device === name && span.lane === lane);
    const rows = rowsWithoutOverlap(own);
    own.forEach((span, index) => {
      threads.set(span, first + (rows[index] as number));
    });
    next += rows.reduce((most, row) => Math.max(most, row + 1), 1);
    return Array.from({ length: next - first }, (_, row) =>
      nameThread(pid, first + row, row === 0 ? lane : `${lane} ${row + 1}`),
    ).flat();
  });
}

/** Whole nanoseconds, Perfetto's resolution. An end and an equal start round alike. */
function nanoseconds(seconds: number): number {
  return Math.round(seconds * 1e9);
}

/** Microseconds that are `count` nanoseconds for readers that round and for readers that truncate. */
function inMicroseconds(count: number): number {
  const nearest = count / 1000;
  return nearest * 1000 < count ? nearest * (1 + Number.EPSILON) : nearest;
}

/**
 * Start and duration of a span. Readers add the two, in microseconds or in nanoseconds, and the sum is never beyond the
 * start of a span that follows at once.
 */
function times(start: number, end: number): { ts: number; dur: number } {
  const ts = inMicroseconds(nanoseconds(start));
  const next = inMicroseconds(nanoseconds(end));
  let dur = inMicroseconds(nanoseconds(end) - nanoseconds(start));
  while (ts + dur > next) dur = Math.min(next - ts, dur * (1 - Number.EPSILON / 2));
  return { ts, dur };
}

/** Names a process, shown at `position` from the top. */
function nameProcess(pid: number, name: string, position: number): ChromeEvent[] {
  return [
    { ph: 'M', name: 'process_name', pid, args: { name } },
    { ph: 'M', name: 'process_sort_index', pid, args: { sort_index: position } },
  ];
}

function nameThread(pid: number, tid: number, name: string): ChromeEvent[] {
  return [
    { ph: 'M', name: 'thread_name', pid, tid, args: { name } },
    { ph: 'M', name: 'thread_sort_index', pid, tid, args: { sort_index: tid } },
  ];
}
