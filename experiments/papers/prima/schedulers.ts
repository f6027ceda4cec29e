import { formatPercent } from '../../../engine/input/format.ts';
import { type Accuracy, accuracyOf } from '../accuracy.ts';
import { configurationCount, isTest } from '../comparison.ts';
import { errorText, medianText } from '../text.ts';
import type { PrimaComparison } from './rules.ts';
import { tableName } from './tables.ts';

/** The aim for the seen and blind cells of a table, under one model per machine. */
export const AIM = { median: 0.12, worst: 0.3 } as const;
/** The tables that the aim is about: Tables 4 and 8, and the blind cells. */
const AIMED: readonly string[] = ['4', '8', 'v1-3', 'v1-6'];

/** prima.cpp's column of a table under one scheduler. */
interface SchedulerRow {
  readonly table: string;
  readonly scheduler: string;
  /** The cells that nothing was fitted to. */
  readonly tested: readonly PrimaComparison[];
  readonly accuracy: Accuracy | undefined;
  /** Cells for which the scheduler finds no plan, or one that runs out of memory; for some the optimum stands in. */
  readonly unanswered: number;
  readonly standIns: number;
  /** The numbers of rounds (k) of its plans. */
  readonly rounds: readonly number[];
  readonly isAimed: boolean;
}

function rowsOf(comparisons: readonly PrimaComparison[]): SchedulerRow[] {
  const own = comparisons.filter(({ cell }) => cell.system === 'prima.cpp' && cell.metric === 'tpot');
  const tables = [...new Set(own.map(({ detail }) => detail.table))];
  return tables.flatMap((table) => {
    const cells = own.filter(({ detail }) => detail.table === table);
    return [...new Set(cells.map(({ policy }) => policy))].map((scheduler): SchedulerRow => {
      const mine = cells.filter(({ policy }) => policy === scheduler);
      const tested = mine.filter(isTest);
      const rounds = mine.flatMap(({ detail }) => detail.execution?.plan?.rounds ?? []);
      return {
        table: tableName(table).replace('Table ', ''),
        scheduler,
        tested,
        accuracy: accuracyOf(tested.flatMap(({ simulatedError }) => simulatedError ?? [])),
        unanswered: tested.filter(({ simulatedError }) => simulatedError === undefined).length,
        standIns: tested.filter(({ detail }) => detail.execution?.standsIn === true).length,
        rounds: [...new Set(rounds)].sort((one, other) => one - other),
        isAimed: AIMED.includes(table.number),
      };
    });
  });
}

/** `yes, no`: whether the median and the worst error keep the aim; a cell without an answer misses both. */
function verdict({ accuracy, unanswered, isAimed }: SchedulerRow): string {
  if (!isAimed || accuracy === undefined) return '';
  const isKept = [accuracy.median <= AIM.median, Math.abs(accuracy.worst) <= AIM.worst];
  return isKept.map((kept) => (kept && unanswered === 0 ? 'yes' : 'no')).join(', ');
}

/** schedulers.md: prima.cpp's TPOT by table and scheduler as Markdown, as simulated. */
export function schedulersMarkdown(comparisons: readonly PrimaComparison[]): string {
  const header = [
    ...['table', 'scheduler', 'k', 'prints', 'configurations', 'no plan'],
    ...['median', 'worst', `median ≤ ${formatPercent(AIM.median)}, worst ≤ ${formatPercent(AIM.worst)}`],
  ];
  const lines = rowsOf(comparisons).map((row) => [
    row.table,
    row.scheduler,
    row.rounds.join(', '),
    String(row.tested.length),
    String(configurationCount(row.tested)),
    row.unanswered > 0 ? String(row.unanswered) : row.standIns > 0 ? `${row.standIns}, optimum` : '',
    row.accuracy === undefined ? '–' : medianText('s', row.accuracy.median),
    errorText('s', row.accuracy?.worst),
    verdict(row),
  ]);
  return [header, header.map((_, index) => (index < 2 || index === 8 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}
