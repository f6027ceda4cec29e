import type { CoverageRule } from '../coverage.ts';

/** Treatment of prima.cpp's numbers that no rule compares (both versions of the paper). */
export const PRIMA_COVERAGE: readonly CoverageRule[] = [
  { value: 'unsupported', reason: 'not run' },
  { row: /^(Cloud|Local Dedicated)/, table: 'Table 1', reason: 'other program', note: 'rented or larger hardware' },
  { row: /^TPI-LLM/, reason: 'other program' },
  { basis: 'quoted', reason: 'input' },
  { table: /^App\. A\.(1|2|3)$/, reason: 'worked example', note: 'test/simulator: prefetch-release' },
  { table: '§3.3', column: 'valid factors of L', reason: 'worked example', note: 'test/schedule/halda' },
  { table: '§4.3', row: 'definition example', reason: 'worked example' },
  { table: /^Table (3|6)$/, reason: 'earlier version' },
  {
    row: /^(prima\.cpp|prima\.cpp, 30B\+ models|prima\.cpp vs llama\.cpp on 70B|prima\.cpp 70B|Halda, 70B-scale models)$/,
    table: /^(Abstract|§1|§4\.2)$/,
    reason: 'derived',
    note: 'from Table 4 and Table 5',
  },
  {
    table: '§4.1',
    row: 'prima.cpp split of Llama 3-8B',
    reason: 'earlier version',
    note: 'the plan of an older Halda, which gave every device a layer',
  },
  { metric: 'speedup', reason: 'derived', note: 'a ratio of cells of Tables 4, 8 and 9' },
  { metric: 'ttft-speedup', reason: 'derived', note: 'a ratio of TTFT cells of Table 4' },
  { metric: 'throughput', reason: 'derived', note: 'the reciprocal of a cell of Table 10' },
  { metric: 'memory-pressure', reason: 'derived', note: 'from Table 5' },
  { column: /^aggregated RAM\+VRAM$/, reason: 'derived', note: 'a sum of Table 3’s devices' },
  {
    system: 'exo',
    reason: 'other program',
    note: 'exo on D1 alone, which swaps',
  },
  { system: 'dllama', reason: 'derived', note: 'all-reduces of the dllama rows' },
  { metric: 'tpot-reduction', system: 'prima.cpp-speculative', reason: 'derived', note: 'from Table 10' },
  { metric: 'scheduling-latency', reason: 'not modelled', note: 'npm run bench measures our own schedulers' },
  {
    table: '§1',
    system: 'llama.cpp',
    reason: 'not modelled',
    note: 'an anecdote: the laptop’s free memory is not stated',
  },
  { metric: 'vram', reason: 'input' },
];
