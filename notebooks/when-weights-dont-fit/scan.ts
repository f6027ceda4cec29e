import { createPageCache, type PageCache } from '../../simulator/page-cache/page-cache.ts';
import type { PagePolicy } from '../../simulator/page-cache/policies.ts';

/** How the operating system reclaims, by the names of the lesson. */
export const POLICIES = {
  'strict LRU (Linux on an advised mapping)': { name: 'linux', readAhead: 0, overhead: 0 },
  'two lists (Linux on an ordinary mapping)': { name: 'linux-two-list', readAhead: 0, overhead: 0 },
  'keep what fits (prima.cpp’s Eq. 15)': { name: 'overflow' },
  'all or nothing (macOS with Metal, Eq. 16)': { name: 'metal' },
} as const satisfies Readonly<Record<string, PagePolicy>>;

export type PolicyName = keyof typeof POLICIES;

/** Extents of the model's weights; a token uses each of them once, in order. */
export const EXTENTS = 96;

/** One moment of a scan: the extent that is used, what is resident then, and whether it had to be read. */
export interface Moment {
  readonly token: number;
  readonly extent: number;
  readonly wasRead: boolean;
  /** Resident ranges, extents. */
  readonly resident: readonly { readonly from: number; readonly to: number }[];
}

export interface Scan {
  readonly moments: readonly Moment[];
  /** Share of the weights that each token reads from disk. */
  readonly read: readonly number[];
}

/**
 * Uses all extents in order, token after token, with room for some of them.
 * @param room extents that fit in memory
 */
export function scan(policy: PolicyName, room: number, tokens: number): Scan {
  const cache = createPageCache({ size: EXTENTS, limit: room, policy: POLICIES[policy], extentBytes: 1 });
  const moments: Moment[] = [];
  const read: number[] = [];
  for (let token = 0; token < tokens; token++) {
    const before = cache.counters().read;
    for (let extent = 0; extent < EXTENTS; extent++) {
      const wasRead = use(cache, extent);
      moments.push({ token, extent, wasRead, resident: cache.residentRanges() });
    }
    read.push((cache.counters().read - before) / EXTENTS);
  }
  return { moments, read };
}

/** Uses one extent; whether it had to be read. */
function use(cache: PageCache, extent: number): boolean {
  const range = { from: extent, to: extent + 1 };
  const { state } = cache.next(range);
  if (state === 'missing') for (const begun of cache.startRead(range, 'demand')) cache.finishRead(begun);
  cache.touch(range);
  return state === 'missing';
}

/** A point of a policy's curve: shares of the weights. */
export interface ReadPoint {
  readonly policy: PolicyName;
  readonly room: number;
  readonly read: number;
}

/** The share of the weights that a token reads in steady state, for every policy and amount of room. */
export function readCurves(): readonly ReadPoint[] {
  const rooms = Array.from({ length: EXTENTS / 4 + 1 }, (_, index) => 4 * index);
  return (Object.keys(POLICIES) as PolicyName[]).flatMap((policy) =>
    rooms.map((room) => {
      const { read } = scan(policy, Math.max(room, 1), 6);
      const steady = read.slice(2);
      return { policy, room: room / EXTENTS, read: steady.reduce((sum, share) => sum + share, 0) / steady.length };
    }),
  );
}
