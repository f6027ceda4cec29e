import { addSpan, type BytesOf, commonBytes, firstEndingAfter, removeSpan, type Span, splitBySet } from './extents.ts';

/** Extents that were in memory once and were evicted or released. */
export interface Dropped extends Span {
  /** The cache's age when the first extent was reclaimed, one more for each extent after it; `undefined`: released. */
  age: number | undefined;
}

/** Pages that have been dropped and not been read again (Linux's shadow entries). */
export interface History {
  record(span: Dropped): void;
  /** The parts of a span that were dropped, in order. */
  find(span: Span): Dropped[];
  /** Bytes of a span that were reclaimed, and that were dropped for either reason. */
  count(span: Span, bytesOf: BytesOf): { readonly reclaimed: number; readonly dropped: number };
  /** Forgets a span: it is being read again. */
  forget(span: Span): void;
}

export function createHistory(): History {
  const all: Dropped[] = [];

  /** The part of a dropped span between two positions. */
  const part = ({ from, to, age }: Dropped, low: number, high: number): Dropped => {
    const start = Math.max(from, low);
    return { from: start, to: Math.min(to, high), age: age === undefined ? undefined : age + start - from };
  };

  const overlapping = (span: Span): { first: number; next: number } => {
    const first = firstEndingAfter(all, span.from);
    let next = first;
    for (let other = all[next]; other !== undefined && other.from < span.to; other = all[++next]);
    return { first, next };
  };

  return {
    record: (span) => {
      const index = firstEndingAfter(all, span.from);
      const before = all[index - 1];
      if (before !== undefined && before.to === span.from && continues(before, span)) before.to = span.to;
      else all.splice(index, 0, { ...span });
    },
    find: (span) => {
      const { first, next } = overlapping(span);
      return all.slice(first, next).map((dropped) => part(dropped, span.from, span.to));
    },
    count: (span, bytesOf) => {
      const { first, next } = overlapping(span);
      let [reclaimed, dropped] = [0, 0];
      for (let index = first; index < next; index++) {
        const { from, to, age } = all[index] as Dropped;
        const bytes = bytesOf(Math.max(from, span.from), Math.min(to, span.to));
        dropped += bytes;
        if (age !== undefined) reclaimed += bytes;
      }
      return { reclaimed, dropped };
    },
    forget: (span) => {
      const { first, next } = overlapping(span);
      const rest = all
        .slice(first, next)
        .flatMap((dropped) => [part(dropped, dropped.from, span.from), part(dropped, span.to, dropped.to)])
        .filter(({ from, to }) => from < to);
      all.splice(first, next - first, ...rest);
    },
  };
}

/**
 * A history that knows what was reclaimed but not when (every age is 0), and so needs as few spans as there are gaps.
 */
export function createAgelessHistory(): History {
  const reclaimed: Span[] = [];
  const released: Span[] = [];
  const inside = (spans: readonly Span[], span: Span, age: number | undefined): Dropped[] =>
    splitBySet(spans, span).flatMap((part) => (part.inside ? [{ from: part.from, to: part.to, age }] : []));
  return {
    record: (span) => addSpan(span.age === undefined ? released : reclaimed, span),
    find: (span) =>
      [...inside(reclaimed, span, 0), ...inside(released, span, undefined)].sort((a, b) => a.from - b.from),
    count: (span, bytesOf) => {
      const bytes = commonBytes(reclaimed, span, bytesOf);
      return { reclaimed: bytes, dropped: bytes + commonBytes(released, span, bytesOf) };
    },
    forget: (span) => {
      removeSpan(reclaimed, span);
      removeSpan(released, span);
    },
  };
}

/** Whether the second span was dropped right after the first, in one sweep. */
function continues(first: Dropped, second: Dropped): boolean {
  if (first.age === undefined || second.age === undefined) return first.age === second.age;
  return first.age + (first.to - first.from) === second.age;
}

export interface RefaultCase {
  readonly history: Pick<History, 'find'>;
  /** About to be read. */
  readonly span: Span;
  /** The cache's age now. */
  readonly age: number;
  /** Extents there is room for; negative: extents that remain to be reclaimed for reads that have begun. */
  readonly free: number;
  /** Extents of the active list. */
  readonly activeExtents: number;
}

/**
 * The extents of a span whose refault distance is at most the length of the active list (mm/workingset.c): the distance
 * is the number of extents reclaimed or promoted since this one was reclaimed, including those that reading the extents
 * before it in the span is about to cause.
 */
export function refaultingSpans({ history, span, age, free, activeExtents }: RefaultCase): Span[] {
  return history.find(span).flatMap(({ from, to, age: reclaimedAt }) => {
    if (reclaimedAt === undefined) return [];
    const distance = age - reclaimedAt;
    const ahead = Math.max(0, from - span.from - free);
    if (distance + ahead <= activeExtents) return [{ from, to }];
    // Each extent was reclaimed one later than the one before: while there is room, distances fall along the span.
    const first = from + Math.max(0, Math.ceil(distance - activeExtents));
    return first < to && first - span.from <= free ? [{ from: first, to }] : [];
  });
}
