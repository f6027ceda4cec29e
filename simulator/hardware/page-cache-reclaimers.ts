import { createLru } from './page-cache-lru.ts';
import { createMetal } from './page-cache-metal.ts';
import { createOverflow } from './page-cache-overflow.ts';
import type { Reclaimer, ReclaimerParts } from './page-cache-reclaimer.ts';
import { createTwoLists } from './page-cache-two-lists.ts';

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
