import type { Outcome, PublishedCell } from '../../../datasets/published.ts';
import { type HelmCase, type HelmPlan, planOf, predictedSeconds, simulatedSeconds } from './answer.ts';
import type { HelmConstants } from './constants.ts';
import { printedRange } from './printed-range.ts';
import { type HelmQuantity, helmQuantity, inUnit, quantityKey, secondsOf } from './quantities.ts';
import { type HelmTarget, targetOf } from './targets.ts';
import { thesisSeconds } from './thesis.ts';

/** `fit`: a constant was fitted to this quantity; `held-out`: to none of its prints. */
type Basis = 'fit' | 'held-out';

/** A cell beside what comes out here; values in its unit. */
export interface HelmComparison {
  readonly cell: PublishedCell;
  readonly quantity: HelmQuantity;
  readonly plan: HelmPlan | undefined;
  readonly published: number | Outcome;
  /** `OOM`: it doesn't run; undefined: not modelled. */
  readonly predicted: number | 'OOM' | undefined;
  readonly simulated: number | 'OOM' | undefined;
  /** T_plan + N δ̄ with the thesis’s numbers as printed, nothing fitted. */
  readonly thesis: number | undefined;
  readonly basis: Basis;
  readonly target: HelmTarget | undefined;
  /** Ends of what the thesis prints of the quantity, rounding included. */
  readonly range: readonly [number, number] | undefined;
  /** What the thesis prints of the quantity, the cell itself among it, in its unit. */
  readonly prints: readonly number[];
}

interface CompareHelm {
  readonly cells: readonly PublishedCell[];
  readonly constants: HelmConstants;
  /** Cells that constants were fitted to. */
  readonly fitted: readonly PublishedCell[];
  /** undefined: no model of the system. */
  readonly caseOf: (cell: PublishedCell) => HelmCase | undefined;
  readonly step: (label: string) => void;
}

/** Every time, rate of tokens and outcome that the thesis measured of a system on a machine. */
export function compareHelm({ cells, constants, fitted, caseOf, step }: CompareHelm): HelmComparison[] {
  const measured = measuredCells(cells);
  const fittedKeys = new Set(fitted.flatMap((cell) => keyOf(cell) ?? []));
  return measured.flatMap((cell): HelmComparison[] => {
    const quantity = helmQuantity(cell);
    if (quantity === undefined) return [];
    step(`${cell.table}, ${cell.row}, ${cell.column}`);
    const one = caseOf(cell);
    const plan = one && planOf(one);
    const same = measured.filter((other) => keyOf(other) === quantityKey(quantity));
    const inCell = (seconds: number): number => inUnit(seconds, cell.unit, quantity.batch);
    const range = printedRange(cell, same);
    const prints = same.flatMap(({ value, unit }) =>
      typeof value === 'number' ? [inCell(secondsOf(value, unit, quantity.batch))] : [],
    );
    const given = {
      cell,
      quantity,
      plan,
      published: cell.value,
      basis: fittedKeys.has(quantityKey(quantity)) ? 'fit' : 'held-out',
      range,
      prints,
    } as const;
    if (one === undefined || plan === undefined || plan.outcome === 'not-modelled') {
      return [{ ...given, predicted: undefined, simulated: undefined, thesis: undefined, target: undefined }];
    }
    if (plan.outcome === 'fails') {
      return [{ ...given, predicted: 'OOM', simulated: 'OOM', thesis: undefined, target: undefined }];
    }
    const shown = (seconds: number | undefined): number | undefined =>
      seconds === undefined ? undefined : inCell(seconds);
    return [
      {
        ...given,
        predicted: shown(predictedSeconds(one, plan.plan, constants)),
        simulated: shown(simulatedSeconds(one, plan.plan, constants)),
        thesis: shown(thesisSeconds(one, plan.plan)),
        target: targetOf(quantity, plan.plan),
      },
    ];
  });
}

/** Cells that report a run: not what a text derives, nor what a backend doesn't report. */
function measuredCells(cells: readonly PublishedCell[]): PublishedCell[] {
  return cells.filter(
    (cell) => cell.basis === 'measured' && cell.value !== 'not-reported' && helmQuantity(cell) !== undefined,
  );
}

function keyOf(cell: PublishedCell): string | undefined {
  const quantity = helmQuantity(cell);
  return quantity && quantityKey(quantity);
}

/** How far an answer lies from the cell, a share of what is printed; undefined where one of them is no number. */
export function errorOf(found: number | 'OOM' | undefined, published: number | Outcome): number | undefined {
  return typeof found === 'number' && typeof published === 'number' ? found / published - 1 : undefined;
}

/** Whether both say that it runs, or both that it doesn't; undefined where nothing is modelled. */
export function outcomeAgrees({ published, predicted }: HelmComparison): boolean | undefined {
  return predicted === undefined ? undefined : (typeof published === 'number') === (typeof predicted === 'number');
}

/** The cell's value in seconds; undefined for an outcome. */
export function publishedSeconds({ cell, quantity }: HelmComparison): number | undefined {
  return typeof cell.value === 'number' ? secondsOf(cell.value, cell.unit, quantity.batch) : undefined;
}
