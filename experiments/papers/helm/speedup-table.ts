import { errorTone, tonesAt } from '../../lib/error-tone.ts';
import type { ReportColumn, TableBlock } from '../../lib/report.ts';
import { errorText } from '../text.ts';
import type { Speedup } from './speedups.ts';

const COLUMNS: readonly ReportColumn[] = [
  { title: 'machine and model', label: true },
  { title: 'use', label: true },
  { title: 'published', align: 'right' },
  { title: 'predicted', align: 'right' },
  { title: 'error', align: 'right' },
];
const ERROR = 4;

/** HELM over Accelerate. */
export function speedupTable(speedups: readonly Speedup[]): TableBlock {
  const errorOf = ({ predicted, published }: Speedup): number => predicted / published - 1;
  return {
    kind: 'table',
    title: 'HELM’s throughput over Accelerate’s (§6.3)',
    columns: COLUMNS,
    rows: speedups.map((one) => [
      one.cell.row,
      one.isFitted ? 'fit' : 'held out',
      `${one.published.toFixed(1)} ×`,
      `${one.predicted.toFixed(1)} ×`,
      errorText('tpot', errorOf(one)),
    ]),
    tones: speedups.map((one) =>
      tonesAt(COLUMNS.length, { [ERROR]: one.isFitted ? undefined : errorTone(errorOf(one)) }),
    ),
  };
}
