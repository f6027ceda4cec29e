import type { KnownRouting } from '../../experts/hit-rates.ts';
import type { PlannedExperts } from './case-of-plan.ts';
import { memoryShares } from './memory-shares.ts';
import { predictExperts, predictPromptReads } from './predict-experts.ts';

/** A device's reads of experts that its plan caches, and the bytes of its memory that these take. */
export interface PredictedReads {
  /** 0 where reads don't count. */
  readonly seconds: number;
  readonly bytes: number;
  readonly ram: number;
  readonly nonReclaimable: number;
  readonly shortage: string | undefined;
}

/**
 * Predicts a device's reads for a token or, in the phase `prefill`, for a prompt; `fit` asks for the memory alone.
 * @param known facts about the routing of its layers; usual ones unless given
 */
export function expertReads(
  { one, routing }: PlannedExperts,
  phase: 'decode' | 'prefill' | 'fit',
  promptTokens: number,
  known: KnownRouting = routing,
): PredictedReads {
  const { allSlots, shortage } = memoryShares(one);
  const { mixture, memory, policy } = one;
  const own = memory.buffers + allSlots * mixture.expertBytes;
  const mapped =
    mixture.denseBytes + (policy.method === 'mmap' ? mixture.layers * mixture.experts * mixture.expertBytes : 0);
  const memories = {
    ...{ ram: own + mapped, shortage },
    nonReclaimable: own + (memory.dense === 'anonymous' ? mixture.denseBytes : 0),
  };
  if (phase === 'fit') return { ...memories, seconds: 0, bytes: 0 };
  if (phase === 'prefill') return { ...memories, ...predictPromptReads(one, promptTokens) };
  const { tokenSeconds, computeSeconds, readBytes } = predictExperts(one, known);
  return { ...memories, seconds: tokenSeconds - computeSeconds, bytes: readBytes };
}
