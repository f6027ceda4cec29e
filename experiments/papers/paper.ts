import type { LoadedCluster } from '../../datasets/load.ts';
import type { Page } from '../report/page/page.ts';
import type { Aim } from './aims.ts';
import type { Comparison, Conflict } from './comparison.ts';
import type { SummaryRow } from './summary.ts';

/** A reproduced paper: its cells, their summary, and what the command writes and prints. */
export interface Reproduced {
  /** Every cell that is modelled, under every policy. */
  readonly comparisons: readonly Comparison[];
  readonly summary: readonly SummaryRow[];
  /** Aims of the models over many cells. */
  readonly aims: readonly Aim[];
  /** Statements of the paper that exclude each other, with the arithmetic. */
  readonly conflicts: readonly Conflict[];
  /** Remarks on the paper's tables: what they leave open, and what follows from them. */
  readonly remarks: readonly { readonly title: string; readonly texts: readonly string[] }[];
  readonly page: Page;
  readonly clusters: readonly LoadedCluster[];
  /** cells.csv and cells.json of the paper by itself. */
  readonly csv: string;
  readonly data: unknown;
  /** Further files of the report on all papers, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Tables for a terminal. */
  readonly text: readonly string[];
}
