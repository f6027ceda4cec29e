import { formatPercent } from '../../engine/terminal/format.ts';
import { formatTable } from '../../engine/terminal/table.ts';
import { type CellAnswers, PHASES, type Phase } from './cell.ts';
import { CELL_COLUMNS, cellRow } from './cell-table.ts';
import { AIMS, errorsOf } from './summary.ts';

const NAMES: Readonly<Record<Phase, string>> = { tpot: 'Decode (TPOT)', ttft: 'Prefill (TTFT)' };

/** Every cell, decode and prefill apart, and the errors of both. */
export function measureText(cells: readonly CellAnswers[]): string {
  const tables = PHASES.map((phase) => {
    const table = formatTable(
      CELL_COLUMNS,
      cells.map((cell) => cellRow(cell, phase)),
    );
    return `${NAMES[phase]}\n${table}`;
  });
  const right = (title: string) => ({ title, align: 'right' as const });
  const errors = formatTable(
    [
      { title: 'Error' },
      right('Predicted\nmedian'),
      right('worst'),
      right('Simulated\nmedian'),
      right('worst'),
      right('Aim'),
    ],
    PHASES.map((phase) => {
      const [predicted, simulated] = [errorsOf(cells, 'predicted', phase), errorsOf(cells, 'simulated', phase)];
      const shares = [predicted.median, predicted.worst, simulated.median, simulated.worst, AIMS[phase]];
      return [NAMES[phase], ...shares.map(formatPercent)];
    }),
  );
  return [...tables, errors].join('\n');
}
