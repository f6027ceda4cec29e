import type { Budget } from './page-cache-budget.ts';
import { createLru } from './page-cache-lru.ts';
import { createMetal } from './page-cache-metal.ts';
import { createOverflow } from './page-cache-overflow.ts';
import type { PolicyParameters } from './page-cache-policy.ts';
import type { Reclaimer } from './page-cache-reclaimer.ts';
import type { CacheState } from './page-cache-state.ts';
import { createTwoLists } from './page-cache-two-lists.ts';

export function createReclaimer(parameters: PolicyParameters, state: CacheState, budget: Budget): Reclaimer {
  switch (parameters.kind) {
    case 'linux':
      return createLru(state, budget);
    case 'linux-two-list':
      return createTwoLists(state, budget, parameters.readAhead);
    case 'overflow':
      return createOverflow(state, budget);
    case 'metal':
      return createMetal(state, budget);
  }
}
