import { coveredSeconds, type Interval, unite, within } from './intervals.ts';
import { type Lane, type Span, type SpanKind, spanKind, type Trace } from './trace.ts';

/** How a span is drawn; `awaited` is the late part of a prefetch, for which a computation waits. */
export type DrawnKind = SpanKind | 'awaited';

/** One or more spans of one kind on one lane, drawn as one. */
export interface TimelineBar {
  readonly device: string;
  readonly lane: Lane;
  readonly kind: DrawnKind;
  readonly start: number;
  readonly end: number;
  /** Less than `end - start` if there are gaps too short to be seen. */
  readonly busySeconds: number;
  readonly bytes: number;
  /** Names of the first and the last span. */
  readonly names: readonly [string, string];
}

/**
 * A trace's spans as bars, by time. Spans of one lane and kind that touch, or are less than `resolution` seconds apart,
 * make one bar, so that the number of bars is limited however many spans there are.
 */
export function timelineBars(trace: Trace, resolution: number): TimelineBar[] {
  const groups = new Map<string, DrawnSpan[]>();
  for (const span of drawnSpans(trace).sort((a, b) => a.start - b.start)) {
    const key = JSON.stringify([span.device, span.lane, span.kind]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [span]);
    else group.push(span);
  }
  return [...groups.values()].flatMap((spans) => runs(spans, resolution).map(barOf)).sort((a, b) => a.start - b.start);
}

/** Groups spans in order of time, separated by gaps that can be seen. */
function runs(spans: readonly DrawnSpan[], resolution: number): DrawnSpan[][] {
  const found: DrawnSpan[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    if (span.start <= end + resolution) found.at(-1)?.push(span);
    else found.push([span]);
    end = Math.max(end, span.end);
  }
  return found;
}

function barOf(spans: readonly DrawnSpan[]): TimelineBar {
  const [first] = spans as readonly [DrawnSpan];
  const last = spans.at(-1) as DrawnSpan;
  return {
    device: first.device,
    lane: first.lane,
    kind: first.kind,
    start: first.start,
    end: spans.reduce((latest, { end }) => Math.max(latest, end), first.end),
    busySeconds: coveredSeconds(spans),
    bytes: spans.reduce((sum, { args }) => sum + (args.bytes ?? 0), 0),
    names: [first.name, last.name],
  };
}

interface DrawnSpan extends Span {
  readonly kind: DrawnKind;
}

/** A trace's spans by kind, each prefetch cut where a computation of its device begins or ends to wait for the disk. */
function drawnSpans({ devices, spans }: Trace): DrawnSpan[] {
  return devices.flatMap(({ name }) => {
    const own = spans.filter(({ device }) => device === name);
    const stalls = unite(own.filter((span) => spanKind(span) === 'stall'));
    return own.flatMap((span): DrawnSpan[] => {
      const kind = spanKind(span);
      if (kind !== 'prefetch' || stalls.length === 0) return [{ ...span, kind }];
      const awaited = within([span], stalls);
      const overlapped = without(span, awaited);
      return [
        ...awaited.map((part): DrawnSpan => ({ ...cut(span, part), kind: 'awaited' })),
        ...overlapped.map((part): DrawnSpan => ({ ...cut(span, part), kind })),
      ];
    });
  });
}

/** The gaps in an interval between parts of it, given in order of time. */
function without({ start, end }: Interval, parts: readonly Interval[]): Interval[] {
  const edges = [start, ...parts.flatMap((part) => [part.start, part.end]), end];
  const left: Interval[] = [];
  for (let index = 0; index < edges.length; index += 2) {
    const part = { start: edges[index] as number, end: edges[index + 1] as number };
    if (part.end > part.start) left.push(part);
  }
  return left;
}

/** A part of a span, with a proportional share of its bytes. */
function cut(span: Span, { start, end }: Interval): Span {
  const { bytes } = span.args;
  if (bytes === undefined) return { ...span, start, end };
  return { ...span, start, end, args: { ...span.args, bytes: (bytes * (end - start)) / (span.end - span.start) } };
}
