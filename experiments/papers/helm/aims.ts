import { formatPercent } from '../../../engine/input/format.ts';
import type { Aim } from '../aims.ts';
import { CONTEXT_FACTOR, CONTEXT_TARGET, type ContextComparison, contextAgrees, distinctContexts } from './contexts.ts';
import type { HelmComparison } from './rules.ts';
import { decodingAccuracies } from './summary.ts';
import { DECODING_TARGET } from './targets.ts';

/** Decoding by configuration, and the longest outputs of Fig. 6.1. */
export function helmAims(results: {
  readonly comparisons: readonly HelmComparison[];
  readonly contexts: readonly ContextComparison[];
}): Aim[] {
  const { predicted, simulated } = decodingAccuracies(results.comparisons);
  const medians = [predicted, simulated].map((accuracy) => accuracy?.median);
  const limits = distinctContexts(results.contexts);
  const agree = limits.filter(contextAgrees).length;
  return [
    {
      paper: 'helm',
      subject: 'decoding, by configuration (Tables 6.1–6.5)',
      target: `median ≤ ${formatPercent(DECODING_TARGET.limit)}`,
      answer: 'both',
      found: medians.map((median) => (median === undefined ? '–' : `${(100 * median).toFixed(1)} %`)).join(' and '),
      isKept: medians.every((median) => median !== undefined && median <= DECODING_TARGET.limit),
    },
    {
      paper: 'helm',
      subject: `longest outputs (Fig. 6.1, §6.2), within a factor of ${CONTEXT_FACTOR}`,
      target: `${CONTEXT_TARGET} of ${limits.length}`,
      answer: 'both',
      found: `${agree} of ${limits.length}`,
      isKept: agree >= CONTEXT_TARGET,
    },
  ];
}
