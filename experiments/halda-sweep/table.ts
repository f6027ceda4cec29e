import { type Plan, planShares } from '../../engine/plan/plan.ts';
import { formatBytes, formatDeviation, formatSeconds, gibibytes, threeDigits } from '../../engine/terminal/format.ts';
import { formatTable, type TableColumn, withoutEmptyColumns, wrapText } from '../../engine/terminal/table.ts';
import type { SweepRow } from './sweep.ts';

const WIDTH = 120;

export const FIT_NOTE = '* a cell that constants may be fitted to, so it tests nothing';

const COLUMNS: readonly TableColumn[] = [
  { title: 'model' },
  { title: 'scheduler' },
  { title: 'TPOT', align: 'right' },
  { title: 'layers\ncpu+gpu', wraps: 'items' },
  { title: 'k', align: 'right' },
  { title: 'RAM+VRAM\n(GiB)', align: 'right' },
  { title: 'reload\nper token', align: 'right' },
  { title: 'planning\n(ms)', align: 'right' },
  { title: 'paper\n(TPOT)', align: 'right' },
  { title: 'error', align: 'right' },
];

/** The sweep of one cluster for the terminal; below it, why rows have no plan. */
export function sweepTable(rows: readonly SweepRow[]): string {
  const messages: string[] = [];
  const noteOf = (message: string): number => {
    if (!messages.includes(message)) messages.push(message);
    return messages.indexOf(message) + 1;
  };
  const cells = rows.map((row, index) => {
    const model = row.model.label === rows[index - 1]?.model.label ? '' : row.model.label;
    return [model, row.scheduler, ...planCells(row, noteOf), planningCell(row), publishedText(row), errorText(row)];
  });
  const notes = messages.flatMap((message, index) =>
    wrapText(`(${index + 1}) ${message}`, WIDTH - 4).map((line, at) => (at === 0 ? line : `    ${line}`)),
  );
  if (rows.some((row) => errorText(row).endsWith('*'))) notes.push(FIT_NOTE);
  const filled = withoutEmptyColumns(COLUMNS, cells);
  const table = formatTable(filled.columns, filled.rows, WIDTH);
  return `${table}${notes.map((line) => `${line}\n`).join('')}`;
}

function planCells({ outcome }: SweepRow, noteOf: (message: string) => number): string[] {
  if (outcome.status === 'planned') {
    const { plan, breakdown, memory } = outcome;
    return [
      formatSeconds(breakdown.tokenSeconds),
      layersText(plan),
      String(plan.rounds),
      `${gibibytes(memory.ramBytes)}+${gibibytes(memory.vramBytes)}`,
      formatBytes(breakdown.reloadedBytes),
    ];
  }
  const kind = { unrunnable: "can't run", 'no-plan': 'no plan', skipped: 'skipped' }[outcome.status];
  return ['–', `${kind}: ${outcome.reason} (${noteOf(outcome.message)})`, '', '', ''];
}

/** `D3 12+30, D1 5`: layers on CPU and GPU, in the order in which a token visits the devices. */
export function layersText(plan: Plan): string {
  const layers = planShares(plan).map(({ device, cpuLayers, gpuLayers }) =>
    gpuLayers === 0 ? `${device} ${cpuLayers}` : `${device} ${cpuLayers}+${gpuLayers}`,
  );
  return layers.join(', ');
}

function planningCell({ planningSeconds }: SweepRow): string {
  return planningSeconds === undefined ? '–' : threeDigits(planningSeconds * 1000);
}

/** The published TPOT, or what the paper prints in its place. */
export function publishedText({ published }: SweepRow): string {
  if (published === undefined) return '';
  return published.seconds === undefined ? String(published.cell.value) : formatSeconds(published.seconds);
}

/** Predicted over published, as a deviation; a cell that may serve for fitting is marked *. */
export function errorText(row: SweepRow): string {
  const ratio = publishedRatio(row);
  if (ratio === undefined) return '';
  return `${formatDeviation(ratio)}${row.published?.cell.use === 'fit' ? '*' : ''}`;
}

/** Predicted TPOT over published TPOT. */
export function publishedRatio({ outcome, published }: SweepRow): number | undefined {
  if (outcome.status !== 'planned' || published?.seconds === undefined) return undefined;
  return outcome.breakdown.tokenSeconds / published.seconds;
}
