import { errorTone, tonesAt } from '../../lib/error-tone.ts';
import type { ReportColumn, TableBlock, Tone } from '../../lib/report.ts';
import { layersText } from '../../report/plan-text.ts';
import { errorText, quantityText } from '../text.ts';
import { isUpperBound } from './quantities.ts';
import type { Comparison } from './rules.ts';

const CONTRADICTED = 'contradicted by the paper itself';

const COLUMNS: readonly ReportColumn[] = [
  { title: 'cell', label: true },
  { title: 'published', align: 'right' },
  { title: 'noise', align: 'right' },
  { title: 'policy', label: true },
  { title: 'predicted', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'simulated', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'layers (CPU+GPU)' },
  { title: 'note' },
];

/** The cells of one column of a paper's table, under every policy that changes them. */
export function cellTable(title: string, all: readonly Comparison[]): TableBlock {
  const comparisons = all.filter((one) => !changesNothing(one, all));
  return {
    kind: 'table',
    title,
    columns: COLUMNS,
    groups: true,
    rows: comparisons.map((one, index) => {
      const name = cellName(one);
      const first = index === 0 || cellName(comparisons[index - 1] as Comparison) !== name;
      const plan = one.execution?.plan;
      return [
        name,
        first ? `${isUpperBound(one.cell) ? '≤ ' : ''}${quantityText(one.cell.metric, one.published)}` : '',
        first ? noiseText(one) : '',
        one.policy === undefined ? 'not modelled' : one.policy.name,
        quantityText(one.cell.metric, one.predicted),
        errorText(one.cell.metric, one.predictedError),
        quantityText(one.cell.metric, one.simulated),
        errorText(one.cell.metric, one.simulatedError),
        plan === undefined || one.cell.metric === 'memory-pressure' ? '' : layersText(plan),
        first ? [one.contradiction && CONTRADICTED, one.execution?.why, one.cell.note].filter(Boolean).join('; ') : '',
      ];
    }),
    tones: comparisons.map((one) =>
      tonesAt(COLUMNS.length, { 5: toneOf(one, one.predictedError), 7: toneOf(one, one.simulatedError) }),
    ),
  };
}

/** The row, with a mark where constants could be fitted to the cell; Table 5 has a column per device. */
function cellName({ cell }: Comparison): string {
  const device = cell.metric === 'memory-pressure' ? ` ${cell.column.split(' ').at(-1)}` : '';
  return `${cell.row}${device}${cell.use === 'fit' ? ' *' : ''}`;
}

/** Half of what the cell can't tell: of times as a share, of shares in points. */
function noiseText({ cell }: Comparison): string {
  if (cell.noise === undefined || typeof cell.value !== 'number') return '';
  const noise = cell.metric === 'memory-pressure' ? cell.noise / 100 : cell.noise / cell.value;
  return errorText(cell.metric, noise).replace('+', '±');
}

/** An alternative that comes to the same as the system's main policy. */
function changesNothing(one: Comparison, all: readonly Comparison[]): boolean {
  const main = all.find(({ cell }) => cell === one.cell);
  if (main === undefined || main === one) return false;
  const text = (quantity: Comparison['predicted']): string => quantityText(one.cell.metric, quantity);
  const same = text(one.predicted) === text(main.predicted);
  return same && (one.simulated === undefined || text(one.simulated) === text(main.simulated));
}

/** Nothing is claimed without a target: there the colour goes by ±25 %, but only where the policy is the claimed one. */
function toneOf({ target, policy, cell, contradiction }: Comparison, error: number | undefined): Tone | undefined {
  if (error === undefined || policy?.claimed !== true || cell.metric !== 'tpot') return undefined;
  if (contradiction !== undefined) return undefined;
  return errorTone(error, target?.limit);
}
