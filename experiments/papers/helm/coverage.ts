import type { CoverageRule } from '../coverage.ts';

/** Treatment of HELM's numbers that no rule compares. */
export const HELM_COVERAGE: readonly CoverageRule[] = [
  { value: 'not-reported', reason: 'not run' },
  { basis: 'quoted', reason: 'input' },
  { table: 'Table 4.2', reason: 'worked example', note: 'test/runtime: online softmax page by page' },
  {
    table: /^(§2\.1|§2\.2\.1|§2\.2\.2|§2\.3|§4\.1\.1|Fig\. 4\.3|§4\.1\.3|Fig\. 4\.4|§4\.2\.2)$/,
    reason: 'worked example',
    note: 'the running example: helm-split.ts holds it against Eqs. 4.1–4.16',
  },
  { metric: 'bandwidth', reason: 'input' },
  { table: '§4.2.1', reason: 'input' },
  { column: /^(Pred\. \(ms\)|Err\.)$/, reason: 'own prediction' },
  { metric: 'prediction-error', reason: 'own prediction' },
  {
    metric: 'overhead-per-block',
    reason: 'own prediction',
    note: 'δ̄, which the thesis calibrates; conflicts.ts has its arithmetic',
  },
  {
    table: '§7.1',
    reason: 'not comparable',
    note: 'its denominator is a copy of 64 MB (4.1.2), which lies in the 256 MiB of the 7H12’s L3: a rate of caches, while the model’s layers are read from DRAM',
  },
  {
    column: 'difference from Accelerate and DeepSpeed',
    reason: 'not comparable',
    note: 'with all in VRAM the three systems share one formula here, so that they differ by nothing',
  },
  {
    column: 'speedup over PyTorch fp16 GEMM',
    reason: 'not modelled',
    note: 'neither the rate of that path nor the machine is stated; remarks.ts has what the stated loop would make of it',
  },
  { metric: 'context', basis: 'derived', reason: 'derived', note: 'from Fig. 6.1' },
  { table: '§4.1.5', reason: 'derived', note: 'from the memory rates next to it' },
  { metric: 'throughput', reason: 'derived', note: 'from Table 6.2' },
];
