import { coveredSeconds, type Interval, unite, within } from '../../engine/trace/intervals.ts';
import { type Span, type SpanKind, spanKind, type Trace } from '../../engine/trace/trace.ts';

/**
 * Parts of a token's time, each second in the first that holds: a processor of any device computes; one waits for its
 * disk; something is sent between devices, or copied between memories of one; nothing of this was recorded.
 */
export const PARTS = ['computing', 'reading', 'sending', 'waiting'] as const;
export type Part = (typeof PARTS)[number];
/** Seconds of each part. */
export type Parts = Readonly<Record<Part, number>>;

/**
 * Mean parts of a token's time over some intervals of a trace, be it predicted, simulated or measured. They add up to the
 * mean length of the intervals.
 * @param intervals at least one; they don't overlap
 */
export function partsOf({ devices, spans }: Trace, intervals: readonly Interval[]): Parts {
  const bounds = unite(intervals);
  const covered = (some: readonly Interval[]): number => coveredSeconds(within(some, bounds)) / intervals.length;
  const ofKinds = (own: readonly Span[], ...kinds: readonly SpanKind[]): Span[] =>
    own.filter((span) => kinds.includes(spanKind(span)));
  const computing = devices.flatMap(({ name }) => {
    const own = spans.filter(({ device }) => device === name);
    return outside(ofKinds(own, 'computing'), unite(ofKinds(own, 'stall')));
  });
  const reading = [...computing, ...ofKinds(spans, 'stall')];
  const sending = [...reading, ...ofKinds(spans, 'communication', 'copy')];
  const [first, second, third] = [covered(computing), covered(reading), covered(sending)];
  const all = coveredSeconds(bounds) / intervals.length;
  return { computing: first, reading: second - first, sending: third - second, waiting: Math.max(0, all - third) };
}

/** Parts of intervals in which a device's processor isn't stalled. @param stalls a union */
function outside(intervals: readonly Interval[], stalls: readonly Interval[]): Interval[] {
  if (stalls.length === 0) return [...intervals];
  const running: Interval[] = [];
  let start = Number.NEGATIVE_INFINITY;
  for (const stall of stalls) {
    running.push({ start, end: stall.start });
    start = stall.end;
  }
  running.push({ start, end: Number.POSITIVE_INFINITY });
  return within(intervals, running);
}

/**
 * Parts of a measured run without a recorder, known from one with it: what the recorder adds falls to waiting, and so does
 * what it doesn't see. Where even the other parts are longer than the whole, all are shortened alike.
 * @param whole seconds that the parts shall add up to
 */
export function partsWithin({ computing, reading, sending }: Parts, whole: number): Parts {
  const known = computing + reading + sending;
  const factor = known > whole ? whole / known : 1;
  return {
    computing: factor * computing,
    reading: factor * reading,
    sending: factor * sending,
    waiting: Math.max(0, whole - known),
  };
}
