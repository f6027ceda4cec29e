import type { CoverageRule } from '../coverage.ts';

/** Treatment of HeteroLLM's numbers that no rule compares. */
export const HETEROLLM_COVERAGE: readonly CoverageRule[] = [
  { value: 'unsupported', reason: 'not run' },
  { row: /MLLM-npu/, reason: 'other program' },
  { basis: 'quoted', reason: 'input' },
  { metric: 'compute-rate', reason: 'input' },
  { metric: 'bandwidth', reason: 'input' },
  { metric: 'latency', reason: 'input' },
  { table: '§1', reason: 'derived', note: 'from §5.2' },
];
