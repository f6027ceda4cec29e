import { errorTone, tonesAt } from '../error-tone.ts';
import type { ReportColumn, TableBlock } from '../report.ts';
import { errorText } from '../reproduce/names.ts';
import type { HelmComparison } from './comparisons.ts';
import { scalings } from './scaling.ts';
import { SCALING_TARGET } from './targets.ts';

const COLUMNS: readonly ReportColumn[] = [
  { title: 'row', label: true },
  { title: 'batch', align: 'right' },
  { title: 'use', label: true },
  { title: 'published', align: 'right' },
  { title: 'predicted', align: 'right' },
  { title: 'error', align: 'right' },
];
const ERROR = 5;

/** Throughput of batches over that of one request, which leaves out what a machine takes for one. */
export function scalingTable(comparisons: readonly HelmComparison[]): TableBlock {
  const rows = scalings(comparisons).map((one) => ({ ...one, error: one.predicted / one.published - 1 }));
  return {
    kind: 'table',
    title: `Throughput over that of one request (target ±${100 * SCALING_TARGET.limit} %)`,
    columns: COLUMNS,
    groups: true,
    rows: rows.map(({ comparison: { cell, quantity }, isFitted, published, predicted, error }) => [
      cell.row,
      String(quantity.batch),
      isFitted ? 'fit' : 'held out',
      `${published.toFixed(2)} ×`,
      `${predicted.toFixed(2)} ×`,
      errorText('tpot', error),
    ]),
    tones: rows.map(({ isFitted, error }) =>
      tonesAt(COLUMNS.length, { [ERROR]: isFitted ? undefined : errorTone(error, SCALING_TARGET.limit) }),
    ),
  };
}
