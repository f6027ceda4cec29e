import type { CellAnswers } from '../../../experiments/measure/cell.ts';
import { TOY_MODEL } from '../../support/toy-cluster.ts';

const sample = (median: number) => ({ median, spread: 0.01, repeats: 5 });

/** A cell whose tokens took 10 ms and whose prompt took 1 s of own time, and twice as long by the wall clock. */
export function cellOf(tpot: number, ttft: number, threads = 1): CellAnswers {
  return {
    model: TOY_MODEL,
    threads,
    promptTokens: 64,
    predicted: { tpot, ttft },
    simulated: { tpot: 0.01, ttft: 1 },
    measured: {
      own: { tpot: sample(0.01), ttft: sample(1) },
      wall: { tpot: sample(0.02), ttft: sample(2) },
    },
  };
}
