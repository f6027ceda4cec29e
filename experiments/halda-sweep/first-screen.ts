import { formatSeconds } from '../../engine/input/format.ts';
import { type Column, terminalTable } from '../report/columns.ts';
import { modelText, rateColumn } from '../report/model-text.ts';
import { fastest, modelsOf, type Planned, plannedRows, rankedSeconds } from './best.ts';
import { ownSchedulers } from './charts.ts';
import type { SweepRow } from './sweep.ts';

/** A model of a sweep with its best plan and what it is compared with. */
interface BestRow {
  /** A row of the model, whichever its scheduler. */
  readonly row: SweepRow;
  /** The fastest plan by simulation; `undefined` if none runs. */
  readonly best: Planned | undefined;
  readonly rows: readonly SweepRow[];
  /** The best plan for what the devices have, where schedulers are shown something else. */
  readonly known: Planned | undefined;
}

/**
 * The sweep of one cluster in a line or two per model: the best plan by simulation, halda's, published times, and what a
 * scheduler or a plan of one's own gives.
 */
export function firstScreen(rows: readonly SweepRow[], informed: readonly SweepRow[], width: number): string {
  const models = modelsOf(rows).map((model): BestRow => {
    const own = rows.filter((row) => row.model.label === model);
    const planned = plannedRows(own);
    const best = planned.length === 0 ? undefined : fastest(planned);
    const [known] = plannedRows(informed.filter((row) => row.model.label === model));
    return { row: own[0] as SweepRow, best, rows: own, known };
  });
  const own = ownSchedulers(rows).map((name) => simulatedColumn(`${name}\nsimul.`, name));
  return terminalTable({ columns: [...COLUMNS, ...own], rows: models, sparse: true }, width);
}

const COLUMNS: readonly Column<BestRow>[] = [
  { title: 'model\nformat, GiB', value: shortModelText, wraps: true, label: true },
  { title: 'best\nplan', value: ({ best }) => best?.scheduler ?? 'none runs' },
  { title: 'simu-\nlated', value: ({ best }) => best?.outcome.simulatedSeconds, unit: 'seconds' },
  rateColumn(({ best }) => best?.outcome.simulatedSeconds, '\ntok/s'),
  { title: 'truth\nallows', value: allowedSeconds, unit: 'seconds' },
  simulatedColumn('halda\nsimul.', 'halda'),
  { title: 'paper:\nprima', value: ({ rows }) => publishedText(rows, 'halda'), align: 'right' },
  { title: 'paper:\nllama', value: ({ rows }) => publishedText(rows, 'single-device'), align: 'right' },
];

/** Simulated TPOT that a plan for the truth would have, or that of the best plan where that is less. */
function allowedSeconds({ best, known }: BestRow): number | undefined {
  if (known === undefined) return undefined;
  return Math.min(rankedSeconds(known), best === undefined ? Number.POSITIVE_INFINITY : rankedSeconds(best));
}

/** The unit stands in the head, so that 80 columns hold a row. */
function shortModelText({ row }: BestRow): string {
  return modelText(row.model.model).replace(/ GiB$/, '');
}

/** Simulated TPOT of a scheduler's plan, or that it has none. */
function simulatedColumn(title: string, scheduler: string): Column<BestRow> {
  const text = ({ rows }: BestRow): string => {
    const outcome = rows.find((row) => row.scheduler === scheduler)?.outcome;
    if (outcome === undefined) return '';
    if (outcome.status !== 'planned') return outcome.status === 'unrunnable' ? outcome.reason : 'no plan';
    return outcome.simulatedSeconds === undefined ? 'OOM' : formatSeconds(outcome.simulatedSeconds);
  };
  return { title, value: text, align: 'right' };
}

/** The published TPOT of the system that a scheduler stands for: prima.cpp or llama.cpp. */
function publishedText(rows: readonly SweepRow[], scheduler: string): string {
  const published = rows.find((row) => row.scheduler === scheduler)?.published;
  if (published === undefined) return '';
  return published.seconds === undefined ? String(published.cell.value) : formatSeconds(published.seconds);
}
