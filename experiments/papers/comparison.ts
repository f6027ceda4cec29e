import type { Outcome } from '../../datasets/published.ts';

/** Papers, by the name that the command line takes. */
export type Paper = 'prima' | 'helm' | 'heterollm';

/** A cell of any paper beside what comes out here: what the drift gate and the report of all papers are made of. */
export interface ReproducedCell {
  readonly paper: Paper;
  readonly table: string;
  readonly row: string;
  readonly column: string;
  /** Which of several policies of one system; '' where there is one. */
  readonly policy: string;
  readonly unit: string;
  readonly published: number | Outcome;
  readonly predicted: number | Outcome | undefined;
  readonly simulated: number | Outcome | undefined;
  /** Signed shares of the published value; of shares, differences. */
  readonly predictedError: number | undefined;
  readonly simulatedError: number | undefined;
  /** Half-width of what the cell can tell, in the terms of the errors; undefined for outcomes. */
  readonly noise: number | undefined;
  /** `fit`: a constant was fitted to the cell or may be; `held-out`: none. */
  readonly use: 'fit' | 'held-out';
  /** Largest error that is aimed at. */
  readonly target: number | undefined;
}

/** A line of the summary: the cells of a table that belong together. */
export interface SummaryRow {
  readonly paper: Paper;
  readonly table: string;
  readonly what: string;
  /** Cells held out, and those that were fitted to or may be. */
  readonly heldOut: number;
  readonly fit: number;
  /** Of what is claimed, over cells held out: without sign, and the largest with its sign. Undefined without cells. */
  readonly median: number | undefined;
  readonly worst: number | undefined;
  /** Which of the answers is claimed; '' where both are the same or it is neither. */
  readonly answer: 'predicted' | 'simulated' | '';
  /** Of outcomes, splits and other cells that agree or don't: how many do. */
  readonly agreeing: { readonly agree: number; readonly of: number } | undefined;
  readonly target: number | undefined;
  readonly met: boolean | undefined;
  /** What else the verdict needs. */
  readonly note: string;
  /** Errors are differences of shares: percentage points. */
  readonly points?: boolean;
}
