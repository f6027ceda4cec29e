import { median } from '../report/median.ts';
import { isDrawnToday, type JudgedCell } from './efficiency.ts';

/** How far predictions are off: |ln(predicted / measured)| and its sign. */
export interface ErrorStatistics {
  readonly median: number;
  readonly ninetieth: number;
  readonly worst: number;
  /** Median of ln(predicted / measured): above 0 where predictions are too fast. */
  readonly bias: number;
}

/**
 * The errors of a group of cells: first predictions by specifications alone and with efficiencies, and `today`, what the
 * model of today makes of cells that it isn’t fitted to. All cells were seen before that.
 */
export interface GroupErrors {
  readonly name: string;
  readonly cells: number;
  readonly machines: number;
  readonly plain: ErrorStatistics;
  readonly fitted: ErrorStatistics;
  readonly today: ErrorStatistics;
}

export function errorStatistics(errors: readonly number[]): ErrorStatistics {
  const sizes = errors.map(Math.abs).sort((one, other) => one - other);
  const at = (share: number): number => sizes[Math.ceil(share * sizes.length) - 1] ?? Number.NaN;
  return { median: median(sizes), ninetieth: at(0.9), worst: at(1), bias: median(errors) };
}

/** Errors by group, in the order in which groups first occur. */
export function groupErrors(
  cells: readonly JudgedCell[],
  groupOf: (cell: JudgedCell) => string | undefined,
): readonly GroupErrors[] {
  const groups = new Map<string, JudgedCell[]>();
  for (const cell of cells) {
    const name = groupOf(cell);
    if (name !== undefined) groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return [...groups].map(([name, own]) => ({
    name,
    cells: own.length,
    machines: new Set(own.map(({ known }) => known.machine)).size,
    plain: errorStatistics(own.map(({ error }) => error)),
    fitted: errorStatistics(own.map(({ errorFitted }) => errorFitted)),
    today: errorStatistics(
      own.flatMap(({ known, errorTodayFitted }) => (isDrawnToday(known) ? [] : [errorTodayFitted])),
    ),
  }));
}

/** Values that several sources measured of the same machine, model, format and test. */
export interface Spread {
  readonly name: string;
  readonly sources: number;
  /** ln of the largest by the least. */
  readonly spread: number;
}

/** Contexts count as the same within this factor. */
const SAME_CONTEXT = 4;

/** The spread of values that two sources give for one setting: no prediction can be closer to both. */
export function spreads(cells: readonly JudgedCell[]): readonly Spread[] {
  const settings = new Map<string, JudgedCell[]>();
  for (const cell of cells) {
    const { machine, program, processor, plan, model, format, test } = cell.known;
    const length =
      test.phase === 'prefill' ? test.prompts : Math.round(Math.log(test.context + 64) / Math.log(SAME_CONTEXT));
    const key = JSON.stringify([machine, program, processor, plan, model, format.bits, test.phase, length]);
    settings.set(key, [...(settings.get(key) ?? []), cell]);
  }
  return [...settings.values()].flatMap((own) => {
    const sources = new Set(own.map(({ measurement }) => measurement.source)).size;
    if (sources < 2) return [];
    const rates = own.map(({ measurement }) => measurement.tokensPerSecond);
    const { machine, model, test } = (own[0] as JudgedCell).known;
    return [
      {
        name: `${machine}, ${model}, ${test.phase}`,
        sources,
        spread: Math.log(Math.max(...rates) / Math.min(...rates)),
      },
    ];
  });
}
