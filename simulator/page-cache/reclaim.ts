import { createTwoLists } from './reclaim-linux.ts';
import { createLru } from './reclaim-lru.ts';
import { createMetal } from './reclaim-metal.ts';
import { createOverflow } from './reclaim-overflow.ts';
import type { Reclaimer, ReclaimerParts } from './reclaimer.ts';

export function createReclaimer(parts: ReclaimerParts): Reclaimer {
  const { parameters, state, budget } = parts;
  switch (parameters.kind) {
    case 'linux':
      return createLru(state, budget);
    case 'linux-two-list':
      return createTwoLists(parts);
    case 'overflow':
      return createOverflow(state, budget);
    case 'metal':
      return createMetal(state, budget);
  }
}
