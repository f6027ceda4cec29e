import { firstEndingAfter, type Span } from './extents.ts';

/** Marks that the operating system keeps of a page; policies that don't use a mark leave it false. */
export interface Marks {
  /** Used since reclaim last looked: the accessed bit of the page table. */
  young: boolean;
  /** Found young once by reclaim (PG_referenced). */
  referenced: boolean;
  /** Being read, and to be moved to the active list then. */
  promoted: boolean;
  /** In single pages that no page table maps yet. */
  unmapped: boolean;
  /** The units that it came in. */
  folios: Folios;
  /** Uses that MGLRU's tiers count, at most MOST_USES (tiers.ts). */
  uses: number;
  /** Within the run a higher extent is less recent; otherwise a lower one is. */
  descending: boolean;
}

/**
 * Units in which the operating system keeps a file's bytes: single pages; several pages that are mapped one by one;
 * huge pages, mapped by one entry; or huge pages that are mapped page by page, because a page table exists at their
 * place.
 */
export type Folios = 'page' | 'several' | 'huge' | 'huge by page';

export const NO_MARKS: Readonly<Marks> = {
  young: false,
  referenced: false,
  promoted: false,
  unmapped: false,
  folios: 'page',
  uses: 0,
  descending: false,
};

/** Neighbouring extents with one place in one list. */
export interface Run extends Span, Marks {
  list: RunList;
  /** Its place in a list where not all runs enter at the end: the lower, the older. 0 in other lists. */
  order: number;
  older: Run | undefined;
  newer: Run | undefined;
}

/**
 * Creates a run that is in no list yet. All runs are created here, property by property, so that they have one shape.
 */
function createRun(from: number, to: number, marks: Readonly<Marks>, list: RunList, order: number): Run {
  const { young, referenced, promoted, unmapped, folios, uses, descending } = marks;
  const neighbours = { older: undefined, newer: undefined };
  return { from, to, young, referenced, promoted, unmapped, folios, uses, descending, list, order, ...neighbours };
}

/** Runs from least to most recent. */
export interface RunList {
  oldest: Run | undefined;
  newest: Run | undefined;
  bytes: number;
}

export function createRunList(): RunList {
  return { oldest: undefined, newest: undefined, bytes: 0 };
}

/**
 * Extents that are in memory or being read, as runs: an index by position, and lists by recency. Runs that are
 * neighbours in both and have equal marks are joined, so that a file that is read over and over has only a handful of
 * runs, however large it is.
 */
export interface RunMap {
  /** By position. */
  readonly all: readonly Run[];
  /** The first run that ends after a position; it may begin after it as well. */
  at(position: number): Run | undefined;
  /** Whether an extent is in memory or being read. */
  has(extent: number): boolean;
  /** The parts of a span that are neither in memory nor being read, in order. */
  missing(span: Span): Span[];
  /** Adds missing extents as the most recent of a list; their order is 0 unless given. */
  add(span: Span, list: RunList, marks: Readonly<Marks>, order?: number): void;
  /** Removes a run's first extents, or the whole run. */
  remove(run: Run, extents: number): void;
  /** The run that is exactly `from` to `to`, cut out of one that contains it. */
  cut(run: Run, from: number, to: number): Run;
  /** Makes a run the most recent of a list, which may be another than its own. */
  toNewest(run: Run, list: RunList): void;
  /** Makes a run the least recent of a list, extent by extent from its oldest on, and so turns its order around. */
  toOldest(run: Run, list: RunList): void;
  /** Moves a run to the place in a list that its order gives it; runs of equal order are sorted by position. */
  toPlace(run: Run, list: RunList): void;
  /** Joins a run with its neighbours, after its marks have changed. */
  join(run: Run): void;
  /**
   * Calls `act` with each wanted run between two positions, cut to fit, in order of position. `act` may move, mark and
   * remove that run.
   */
  visit(span: Span, wanted: (run: Run) => boolean, act: (run: Run) => void): void;
}

/** @param bytesOf size of the extents from one to, not including, another */
export function createRunMap(bytesOf: (from: number, to: number) => number): RunMap {
  const all: Run[] = [];

  const at = (position: number): Run | undefined => all[firstEndingAfter(all, position)];

  const enter = (run: Run): void => void all.splice(firstEndingAfter(all, run.from), 0, run);
  const leave = (run: Run): void => void all.splice(firstEndingAfter(all, run.from), 1);

  /** Joins two neighbours in a list if they are neighbours in position as well, with equal marks; returns the sum. */
  const joinPair = (older: Run | undefined, newer: Run | undefined): Run | undefined => {
    if (older === undefined || newer === undefined || !areAlike(older, newer)) return undefined;
    const [low, high] = older.descending ? [newer, older] : [older, newer];
    if (low.to !== high.from) return undefined;
    leave(high);
    unlink(high);
    low.to = high.to;
    return low;
  };

  /** Joins a run with its neighbours on both sides. */
  const joinBoth = (run: Run): void => {
    const joined = joinPair(run, run.newer) ?? run;
    joinPair(joined.older, joined);
  };

  const unlinkAndClose = (run: Run): void => {
    const { older, newer } = run;
    unlink(run);
    run.list.bytes -= bytesOf(run.from, run.to);
    joinPair(older, newer);
  };

  const insert = (run: Run, list: RunList, older: Run | undefined): void => {
    link(run, list, older);
    list.bytes += bytesOf(run.from, run.to);
    joinBoth(run);
  };

  /** Cuts a run in two; returns the upper part. */
  const split = (run: Run, position: number): Run => {
    const { list, descending } = run;
    const high = createRun(position, run.to, run, list, run.order);
    run.to = position;
    link(high, list, descending ? run.older : run);
    enter(high);
    return high;
  };

  const cut = (run: Run, from: number, to: number): Run => {
    const low = run.from < from ? split(run, from) : run;
    if (to < low.to) split(low, to);
    return low;
  };

  return {
    all,
    at,
    has: (extent) => {
      const run = at(extent);
      return run !== undefined && run.from <= extent;
    },
    missing: (span) => missingIn(all, span),
    add: ({ from, to }, list, marks, order = 0) => {
      const run = createRun(from, to, marks, list, order);
      enter(run);
      insert(run, list, list.newest);
    },
    remove: (run, extents) => {
      if (extents < run.to - run.from) {
        run.list.bytes -= bytesOf(run.from, run.from + extents);
        run.from += extents;
      } else {
        leave(run);
        unlinkAndClose(run);
      }
    },
    cut,
    toNewest: (run, list) => {
      unlinkAndClose(run);
      insert(run, list, list.newest);
    },
    toOldest: (run, list) => {
      unlinkAndClose(run);
      run.descending = !run.descending;
      insert(run, list, undefined);
    },
    toPlace: (run, list) => {
      unlinkAndClose(run);
      let older = list.newest;
      while (older !== undefined && comesBefore(run, older)) older = older.older;
      insert(run, list, older);
    },
    join: joinBoth,
    visit: (span, wanted, act) => {
      let position = span.from;
      while (position < span.to) {
        const run = at(position);
        if (run === undefined || run.from >= span.to) return;
        position = Math.max(position, run.from);
        const end = Math.min(run.to, span.to);
        if (wanted(run)) act(cut(run, position, end));
        position = end;
      }
    },
  };
}

/** Links a run into a list behind another one; `undefined`: as the oldest. */
function link(run: Run, list: RunList, older: Run | undefined): void {
  const newer = older === undefined ? list.oldest : older.newer;
  run.list = list;
  run.older = older;
  run.newer = newer;
  if (older === undefined) list.oldest = run;
  else older.newer = run;
  if (newer === undefined) list.newest = run;
  else newer.older = run;
}

function unlink({ list, older, newer }: Run): void {
  if (older === undefined) list.oldest = newer;
  else older.newer = newer;
  if (newer === undefined) list.newest = older;
  else newer.older = older;
}

/** The parts of a span that no run covers, in order. */
function missingIn(runs: readonly Run[], { from, to }: Span): Span[] {
  const missing: Span[] = [];
  for (let position = from; position < to; ) {
    const run = runs[firstEndingAfter(runs, position)];
    const start = Math.min(to, run?.from ?? to);
    if (position < start) missing.push({ from: position, to: start });
    position = run === undefined ? to : run.to;
  }
  return missing;
}

/** Whether two runs have the same order and the same marks. */
function areAlike(one: Run, other: Run): boolean {
  return (
    one.order === other.order &&
    one.young === other.young &&
    one.referenced === other.referenced &&
    one.promoted === other.promoted &&
    one.unmapped === other.unmapped &&
    one.folios === other.folios &&
    one.uses === other.uses &&
    one.descending === other.descending
  );
}

/** Whether the first of two runs is the older one, by their order and then their position. */
export function comesBefore(first: Run, second: Run): boolean {
  return first.order < second.order || (first.order === second.order && first.from < second.from);
}
