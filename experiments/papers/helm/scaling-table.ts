import { errorTone, tonesAt } from '../../lib/error-tone.ts';
import type { ReportColumn, TableBlock } from '../../lib/report.ts';
import { errorText } from '../text.ts';
import type { HelmComparison } from './rules.ts';
import { scalings } from './scaling.ts';
import { SCALING_TARGET } from './targets.ts';

const COLUMNS: readonly ReportColumn[] = [
  { title: 'row', label: true },
  { title: 'batch', align: 'right' },
  { title: 'use', label: true },
  { title: 'published', align: 'right' },
  { title: 'predicted', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'printed range', align: 'right' },
  { title: 'verdict', label: true },
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
    rows: rows.map(({ comparison: { cell, quantity }, isFitted, published, predicted, error, range, verdict }) => [
      cell.row,
      String(quantity.batch),
      isFitted ? 'fit' : 'held out',
      `${published.toFixed(2)} ×`,
      `${predicted.toFixed(2)} ×`,
      errorText('tpot', error),
      range.map((end) => end.toFixed(2)).join('–'),
      isFitted ? '' : verdict,
    ]),
    tones: rows.map(({ isFitted, error, verdict }) =>
      tonesAt(COLUMNS.length, {
        [ERROR]: isFitted ? undefined : verdict === 'within noise' ? 'good' : errorTone(error, SCALING_TARGET.limit),
      }),
    ),
  };
}
