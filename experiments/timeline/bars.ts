import { coveredSeconds } from '../../engine/trace/intervals.ts';
import type { Lane, Trace } from '../../engine/trace/trace.ts';
import { type DrawnKind, type DrawnSpan, drawnSpans } from './drawn-spans.ts';

/** One or more spans of one kind on one lane, drawn as one. */
export interface TimelineBar {
  readonly device: string;
  readonly lane: Lane;
  readonly kind: DrawnKind;
  readonly start: number;
  readonly end: number;
  /** Less than from start to end where there are gaps too short to be seen. */
  readonly busySeconds: number;
  readonly bytes: number;
  /** Names of the first and the last span. */
  readonly names: readonly [string, string];
}

/**
 * A trace's spans as bars, by time: spans of one lane and kind that touch, or are less than `resolution` seconds apart,
 * make one, so that there are no more bars than can be told apart however many spans there are.
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

/** Spans in order of time, cut where a gap can be seen. */
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
