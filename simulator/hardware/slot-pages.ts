import { createUnitCache } from '../../engine/experts/unit-cache.ts';

/** The slots that the operating system keeps in memory; the least recently used are swapped out. */
export interface SlotPages {
  /** A slot is used. @returns whether it has to come back from swap */
  use(slot: number): boolean;
}

/** @param resident slots that stay in memory at once */
export function createSlotPages(resident: number): SlotPages {
  const cache =
    resident > 0
      ? createUnitCache({ slots: resident, eviction: { kind: 'lru' }, sparesNeeded: false, seed: 0 })
      : undefined;
  /** A slot that was never used has nothing to come back. */
  const written = new Set<number>();
  return {
    use(slot) {
      const isMissing = cache === undefined || cache.need([slot]).length > 0;
      const isOld = written.has(slot);
      written.add(slot);
      return isMissing && isOld;
    },
  };
}
