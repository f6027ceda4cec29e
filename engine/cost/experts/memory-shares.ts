import { PAGE_TABLES } from '../reclaim.ts';
import type { ExpertsCase } from './experts-case.ts';

/** How the claimants of one memory share it. */
export interface MemoryShares {
  /** Slots of each cache: of a layer's, or of the one for all; 0 where experts are mapped. */
  readonly slots: number;
  /** Slots of all caches together, and those of them that the operating system leaves in memory. */
  readonly allSlots: number;
  readonly residentSlots: number;
  /** Bytes for file pages. */
  readonly pageBytes: number;
  /** Why this can't run; missing: it can. */
  readonly shortage?: string;
}

/** Bytes of pieces that are being read in addition to the slots. */
function readingBytes({ mixture: { expertBytes, readsPerExpert }, policy }: ExpertsCase): number {
  return (policy.depth * expertBytes) / readsPerExpert;
}

/**
 * The slots that memory has room for in addition to what every token uses: as many for each layer, or for all together
 * in whole multiples of what one token uses, since a cache hits nothing below one and gains in steps. With lookahead,
 * which needs no whole token, a pool takes what there is.
 * @returns slots of each cache; 0 where not even those of a token in one layer fit, and where experts are mapped
 */
export function fittingSlots(one: ExpertsCase): number {
  const { mixture, memory, policy } = one;
  const { layers, experts, used, expertBytes, denseBytes } = mixture;
  if (policy.method === 'mmap') return 0;
  const tables = memory.dense === 'mapped' ? PAGE_TABLES * denseBytes : 0;
  const room = memory.available - memory.buffers - denseBytes - tables - readingBytes(one);
  const all = Math.max(0, Math.min(layers * experts, Math.floor(room / expertBytes)));
  if (policy.pool === 'layer') {
    const each = Math.floor(all / layers);
    return each < used ? 0 : each;
  }
  const token = layers * used;
  if (all >= layers * experts) return all;
  if (all >= token) return Math.floor(all / token) * token;
  const needed = policy.lookahead.kind === 'none' ? used : 2 * used;
  return all < needed ? 0 : all;
}

/** The shares of one memory under a policy. */
export function memoryShares(one: ExpertsCase): MemoryShares {
  const { mixture, memory, policy } = one;
  const { layers, expertBytes, denseBytes } = mixture;
  const slots = policy.slots === 'fit' ? fittingSlots(one) : policy.slots;
  const caches = policy.pool === 'layer' ? layers : 1;
  const allSlots = slots * caches;
  const reading = policy.method === 'mmap' ? 0 : readingBytes(one);
  const fixed = memory.buffers + reading + (memory.dense === 'anonymous' ? denseBytes : 0);
  const own = fixed + allSlots * expertBytes;
  const shares = { slots, allSlots, residentSlots: allSlots, pageBytes: Math.max(0, memory.available - own) };
  if (policy.method !== 'mmap' && slots === 0)
    return {
      ...shares,
      shortage: 'the experts of one token in one layer don’t fit in addition to what every token uses',
    };
  if (memory.pressure.kind === 'kept')
    return own > memory.available ? { ...shares, shortage: 'slots, buffers and weights exceed the memory' } : shares;
  // Weights that every token uses were used recently, mapped or not.
  const room = memory.available - memory.buffers - reading - denseBytes;
  const resident = Math.max(0, Math.min(allSlots, Math.floor(room / expertBytes)));
  if (fixed > memory.available) return { ...shares, shortage: 'buffers and weights exceed the memory' };
  if (resident === allSlots) return { ...shares, residentSlots: resident };
  return { ...shares, residentSlots: resident, pageBytes: memory.dense === 'mapped' ? denseBytes : 0 };
}
