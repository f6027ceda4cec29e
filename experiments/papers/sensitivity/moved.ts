import { median } from '../../report/median.ts';
import { inPoints } from '../comparison.ts';
import { FACTORS } from './studies.ts';
import type { Parameter, StudiedCell, Study } from './study.ts';

/** Answers of all cells, `null` where there is no number. */
export type Answers = readonly (number | null)[];

/** A change below it is rounding. */
const MOVED = 0.001;

/** How a cell's answer changes with a parameter, a value per factor; `undefined`: no number before or after. */
export type Changes = readonly (number | undefined)[];

export interface ParameterRow extends Parameter {
  /** Cells whose answer changes by a thousandth or more at some factor, or appears or disappears. */
  readonly moved: number;
  /** Cells that no other parameter changes more. */
  readonly decided: number;
  /** Median change of the cells that move, by factor. */
  readonly medianChange: readonly (number | undefined)[];
  /** Median error, without sign, over all cells that nothing was fitted to, by factor. */
  readonly medianError: readonly number[];
  /** Cells whose answer appears or disappears at some factor. */
  readonly outcomes: number;
}

export interface CellRow extends StudiedCell {
  readonly base: number | null;
  /** Relative to what is published; in points for shares and gains. */
  readonly error: number | undefined;
  /** The parameter that changes it most; undefined if none does. */
  readonly decidedBy: string | undefined;
  /** Its changes, by factor. */
  readonly changes: Changes;
  /** ∂ln(answer)/∂ln(parameter) between the factors next to 1. */
  readonly elasticity: number | undefined;
}

export interface Moved {
  readonly parameters: readonly ParameterRow[];
  readonly cells: readonly CellRow[];
  /** Median error without sign, over cells that nothing was fitted to, with everything as it is taken. */
  readonly medianError: number;
}

/** Findings from the answers of all points of a study: which parameter moves which cell, and by how much. */
export function movedBy({ parameters, cells }: Pick<Study, 'parameters' | 'cells'>, points: readonly Answers[]): Moved {
  const [base = []] = points;
  const at = (parameter: number, factor: number): Answers => points[1 + parameter * FACTORS.length + factor] ?? [];
  const changesOf = (parameter: number, cell: number): Changes =>
    FACTORS.map((_, factor) => changeOf(cells[cell] as StudiedCell, base[cell], at(parameter, factor)[cell]));
  const hasOutcome = (parameter: number, cell: number): boolean =>
    FACTORS.some((_, factor) => ((base[cell] ?? null) === null) !== ((at(parameter, factor)[cell] ?? null) === null));
  const sizeOf = (changes: Changes): number => Math.max(0, ...changes.map((change = 0) => Math.abs(change)));
  const sizes = cells.map((_, cell) => parameters.map((__, parameter) => sizeOf(changesOf(parameter, cell))));
  const deciding = sizes.map((own) => {
    const largest = Math.max(0, ...own);
    return largest >= MOVED ? own.indexOf(largest) : undefined;
  });
  const errorOver = (answers: Answers): number =>
    median(
      cells.flatMap((cell, index) => {
        const error = errorOf(cell, answers[index]);
        return cell.isTest && error !== undefined ? [Math.abs(error)] : [];
      }),
    );
  return {
    medianError: errorOver(base),
    parameters: parameters.map(({ name, value, kind }, parameter) => {
      const moving = cells.flatMap((_, cell) =>
        (sizes[cell]?.[parameter] ?? 0) >= MOVED ? [changesOf(parameter, cell)] : [],
      );
      const outcomes = cells.filter((_, cell) => hasOutcome(parameter, cell)).length;
      return {
        ...{ name, value, kind, outcomes },
        moved: cells.filter((_, cell) => (sizes[cell]?.[parameter] ?? 0) >= MOVED || hasOutcome(parameter, cell))
          .length,
        decided: deciding.filter((one) => one === parameter).length,
        medianChange: FACTORS.map((_, factor) => {
          const own = moving.flatMap((changes) => changes[factor] ?? []);
          return own.length === 0 ? undefined : median(own);
        }),
        medianError: FACTORS.map((_, factor) => errorOver(at(parameter, factor))),
      };
    }),
    cells: cells.map((cell, index): CellRow => {
      const parameter = deciding[index];
      const changes = parameter === undefined ? FACTORS.map(() => undefined) : changesOf(parameter, index);
      const [, low, high] = parameter === undefined ? [] : FACTORS.map((_, factor) => at(parameter, factor)[index]);
      const known = typeof low === 'number' && typeof high === 'number' && low > 0 && high > 0;
      return {
        ...cell,
        base: base[index] ?? null,
        error: errorOf(cell, base[index]),
        decidedBy: parameter === undefined ? undefined : parameters[parameter]?.name,
        changes,
        elasticity: known ? Math.log(high / low) / Math.log(FACTORS[2] / FACTORS[1]) : undefined,
      };
    }),
  };
}

function changeOf({ unit }: StudiedCell, base: number | null | undefined, found: number | null | undefined) {
  if (typeof base !== 'number' || typeof found !== 'number' || base === 0) return undefined;
  return inPoints(unit) ? found - base : found / base - 1;
}

function errorOf({ unit, published }: StudiedCell, found: number | null | undefined): number | undefined {
  if (typeof found !== 'number') return undefined;
  return inPoints(unit) ? found - published : found / published - 1;
}
