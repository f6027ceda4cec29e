import { simulate } from '../../simulator/simulate.ts';
import type { Plan } from '../plan/plan.ts';
import { metrics } from '../trace/metrics.ts';
import type { Question } from './question.ts';

/** Seconds by simulation; infinite if the run ends for want of memory. */
export interface SimulatedTimes {
  /** TPOT in steady state. */
  readonly tokenSeconds: number;
  /** TTFT with mapped weights on disk. Weights in VRAM are loaded before. */
  readonly coldSeconds: number;
  /** TTFT with the page cache in the state in which a token before the prompt leaves it. */
  readonly warmSeconds: number;
}

/** Tokens decoded; the first half finds memories as the prompt left them, and does not count. */
const TOKENS = 4;

/** Simulates a plan, with each operating system's own way to reclaim: once from disk, once warm. */
export function simulatedTimes({ cluster, model, workload }: Question, plan: Plan): SimulatedTimes {
  const context = workload.promptTokens + TOKENS;
  const asked = { cluster, model, plan, record: 'tokens' } as const;
  const sized = { ...workload, context: Math.max(workload.context, context) };
  const cold = simulate({ ...asked, workload: { ...sized, outputTokens: TOKENS } });
  if (cold.outOfMemory.length > 0) return { tokenSeconds: Infinity, coldSeconds: Infinity, warmSeconds: Infinity };
  const steady = cold.trace.tokens.filter(({ phase }) => phase === 'decode').slice(TOKENS / 2 - 1);
  const tokenSeconds = steady.reduce((sum, { start, end }) => sum + end - start, 0) / steady.length;
  const coldSeconds = metrics(cold.trace).firstTokenSeconds as number;
  if (plan.kind !== 'ring' && plan.kind !== 'split') return { tokenSeconds, coldSeconds, warmSeconds: coldSeconds };
  const warm = simulate({ ...asked, workload: { ...sized, outputTokens: 1 }, warm: true });
  return { tokenSeconds, coldSeconds, warmSeconds: metrics(warm.trace).firstTokenSeconds as number };
}
