import { HUGE_PAGE_BYTES } from './folios.ts';
import { comesBefore, type Folios, type Run } from './runs.ts';
import type { CacheState } from './state.ts';

/** How often the statistics of all cgroups are brought up to date (FLUSH_TIME, mm/memcontrol.c). */
const PERIOD_SECONDS = 2;
const GIB = 2 ** 30;

/** The lists' lengths as reclaim knows them: not the current ones, but those of the last count. */
export interface ListStatistics {
  /** Extents of the active list. */
  readonly activeExtents: number;
  /** Whether the active list is longer than the inactive one, or from 1 GiB on several times as long. */
  readonly isActiveTooLong: boolean;
  /** The lists are about to change. @param reclaims because memory is short */
  beforeChange(reclaims: boolean): void;
}

/** Largest ratio of the active list to the inactive one (inactive_is_low, mm/vmscan.c). @param bytes of both */
function longestRatio(bytes: number): number {
  const gibibytes = Math.floor(bytes / GIB);
  return gibibytes === 0 ? 1 : Math.floor(Math.sqrt(10 * gibibytes));
}

/**
 * Counts the lists every two seconds of a clock.
 * @param now `undefined`: there is no clock, and the lists are counted whenever reclaim begins
 */
export function createListStatistics(
  { lists: { inactive, active, reading }, extentBytes }: Pick<CacheState, 'lists' | 'extentBytes'>,
  now: (() => number) | undefined,
): ListStatistics {
  let period = Number.NEGATIVE_INFINITY;
  const statistics = {
    activeExtents: 0,
    isActiveTooLong: false,
    beforeChange: (reclaims: boolean): void => {
      const current = now === undefined ? period : Math.floor(now() / PERIOD_SECONDS);
      if (current === period && !(now === undefined && reclaims)) return;
      period = current;
      statistics.activeExtents = active.bytes / extentBytes;
      const others = inactive.bytes + reading.bytes;
      statistics.isActiveTooLong = active.bytes > longestRatio(others + active.bytes) * others;
    },
  };
  return statistics;
}

/**
 * The order of the inactive list and of what is being read: pages take their places when there is room for them and
 * their read begins, not when it ends.
 */
export interface InactiveOrder {
  /** Everything that has begun to be read takes a place at the end. */
  enter(): void;
  /** A run that has been read goes to the place that it took when it entered. */
  arrive(run: Run): void;
  /** A run goes to the end. */
  rotate(run: Run): void;
  /** Reclaim has reached a run: whatever is older and still being read is locked, and goes to the end. */
  pass(run: Run): void;
}

/** The order of a run that has begun to be read and has no place yet. */
export const NO_PLACE = Number.POSITIVE_INFINITY;

export function createInactiveOrder({ runs, lists }: Pick<CacheState, 'runs' | 'lists'>): InactiveOrder {
  const { inactive, reading } = lists;
  let last = 0;
  /** Runs that are rotated one after the other share one place, so that neighbours can be joined. */
  let wasRotated = false;
  const nextPlace = (): number => {
    wasRotated = false;
    return ++last;
  };
  return {
    enter: () => {
      if (reading.newest?.order !== NO_PLACE) return;
      const own = nextPlace();
      for (let run: Run | undefined = reading.newest; run?.order === NO_PLACE; run = run.older) run.order = own;
    },
    arrive: (run) => runs.toPlace(run, inactive),
    rotate: (run) => {
      if (!wasRotated) last++;
      wasRotated = true;
      run.order = last;
      runs.toNewest(run, inactive);
    },
    pass: (run) => {
      for (let next = reading.oldest; next !== undefined && comesBefore(next, run); next = reading.oldest) {
        next.order = nextPlace();
        runs.toPlace(next, reading);
      }
    },
  };
}

/**
 * Bytes that reclaim looks at in one go: 32 pages (SWAP_CLUSTER_MAX, mm/vmscan.c), or a folio if that is larger. For
 * folios of several pages: the mean over windows with folios of 16 KiB, 64 KiB, 256 KiB and 1 MiB.
 */
const BATCH_BYTES: Readonly<Record<Folios, number>> = {
  page: 128 * 2 ** 10,
  several: 195 * 2 ** 10,
  huge: HUGE_PAGE_BYTES,
  'huge by page': HUGE_PAGE_BYTES,
};

/** The active list, and how extents move between it and the inactive list. */
export interface ActiveList {
  promote(run: Run): void;
  /** The first extent of a run goes back to the inactive list. */
  deactivate(run: Run): void;
  /** Spares a young run: it goes to the end of the inactive list, or, found young twice, to the active list. */
  spare(run: Run): void;
  /** Reclaim has looked at inactive extents in such folios, and looks at as many batches of the active list. */
  shorten(extents: number, folios: Folios): void;
  /** Reclaim begins while the active list is not the longer one: nothing is left to make up for. */
  forgetBatches(): void;
}

/**
 * While the active list is too long, reclaim shortens it: for every batch that it looks at in the
 * inactive list, it sends a batch of the active list back, or as many as the active list is longer. Batches are 32
 * pages or a large folio: behind a huge page little goes back, and behind single pages huge ones go back sixteen times
 * as fast.
 */
export function createActiveList(state: CacheState, order: InactiveOrder): ActiveList {
  const { runs, lists, extentBytes } = state;
  const { inactive, active, reading } = lists;
  /** Batches that reclaim has looked at in the inactive list and not yet in the active list, per byte of an extent. */
  let owed = 0;

  const promote = (run: Run): void => {
    state.age += run.to - run.from;
    run.order = 0;
    runs.toNewest(run, active);
  };

  const deactivate = (oldest: Run): void => {
    const run = runs.cut(oldest, oldest.from, oldest.from + 1);
    run.young = false;
    order.rotate(run);
  };

  return {
    promote,
    deactivate,
    spare: (run) => {
      const again = run.referenced;
      run.young = false;
      run.referenced = true;
      if (again) promote(run);
      else order.rotate(run);
    },
    shorten: (extents, folios) => {
      const others = Math.max(extentBytes, inactive.bytes + reading.bytes);
      const proportion = BATCH_BYTES[folios] === HUGE_PAGE_BYTES ? 1 : Math.max(1, active.bytes / others);
      owed += (extents * proportion) / BATCH_BYTES[folios];
      for (let run = active.oldest; run !== undefined; run = active.oldest) {
        const batches = 1 / BATCH_BYTES[run.folios];
        if (owed < batches) return;
        owed -= batches;
        deactivate(run);
      }
    },
    forgetBatches: () => {
      owed = 0;
    },
  };
}
