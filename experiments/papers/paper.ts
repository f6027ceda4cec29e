import type { LoadedCluster } from '../../datasets/load.ts';
import type { Page } from '../report/page/page.ts';
import type { Comparison } from './comparison.ts';
import type { SummaryRow } from './summary.ts';

/** A reproduced paper: its cells, their summary, and what the command writes and prints. */
export interface Reproduced {
  /** Every cell that is modelled, under every policy. */
  readonly comparisons: readonly Comparison[];
  readonly summary: readonly SummaryRow[];
  readonly page: Page;
  readonly clusters: readonly LoadedCluster[];
  /** cells.csv and cells.json of the paper by itself. */
  readonly csv: string;
  readonly data: unknown;
  /** Tables for a terminal. */
  readonly text: readonly string[];
}
