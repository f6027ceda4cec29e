import { type Interval, unite, within } from '../../engine/trace/intervals.ts';
import { type Span, type SpanKind, spanKind, type Trace } from '../../engine/trace/trace.ts';

/** What spans are drawn as; `awaited` is the part of a prefetch that comes too late: a computation waits meanwhile. */
export type DrawnKind = SpanKind | 'awaited';

export interface DrawnSpan extends Span {
  readonly kind: DrawnKind;
}

/** A trace's spans by kind, each prefetch cut where a computation of its device begins or ends to wait for the disk. */
export function drawnSpans({ devices, spans }: Trace): DrawnSpan[] {
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

/** What is left of an interval, given parts of it in order of time. */
function without({ start, end }: Interval, parts: readonly Interval[]): Interval[] {
  const edges = [start, ...parts.flatMap((part) => [part.start, part.end]), end];
  const left: Interval[] = [];
  for (let index = 0; index < edges.length; index += 2) {
    const part = { start: edges[index] as number, end: edges[index + 1] as number };
    if (part.end > part.start) left.push(part);
  }
  return left;
}

/** A part of a span, with its bytes in proportion. */
function cut(span: Span, { start, end }: Interval): Span {
  const { bytes } = span.args;
  if (bytes === undefined) return { ...span, start, end };
  return { ...span, start, end, args: { ...span.args, bytes: (bytes * (end - start)) / (span.end - span.start) } };
}
