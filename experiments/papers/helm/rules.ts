import type { PublishedCell } from '../../../datasets/published.ts';
import type { Answers, Comparison, Rule } from '../comparison.ts';
import { type HelmCase, type HelmPlan, planOf, predictedSeconds, simulatedSeconds, thesisSeconds } from './answer.ts';
import type { HelmConstants } from './constants.ts';
import { type HelmQuantity, helmQuantity, inUnit, printedRange, quantityKey, secondsOf } from './quantities.ts';
import { type HelmTarget, type Judged, targetOf, type Verdict, verdictOf } from './targets.ts';

/** Details of a compared cell of the thesis; values in its unit. */
export interface HelmDetail extends Pick<Judged, 'range' | 'prints'> {
  readonly quantity: HelmQuantity;
  /** undefined: no model of the system. */
  readonly plan: HelmPlan | undefined;
  /** T_plan + N δ̄ with the thesis’s numbers as printed, nothing fitted. */
  readonly thesis: number | undefined;
  readonly aim: HelmTarget | undefined;
}

export type HelmComparison = Comparison<HelmDetail>;

export interface HelmRules {
  readonly cells: readonly PublishedCell[];
  readonly constants: HelmConstants;
  /** Cells that constants were fitted to. */
  readonly fitted: readonly PublishedCell[];
  /** undefined: no model of the system. */
  readonly caseOf: (cell: PublishedCell) => HelmCase | undefined;
}

/** A rule for every time, rate of tokens and outcome that the thesis measured of a system on a machine. */
export function helmRules({ cells, constants, fitted, caseOf }: HelmRules): Rule<HelmDetail>[] {
  const measured = measuredCells(cells);
  const fittedKeys = new Set(fitted.flatMap((cell) => keyOf(cell) ?? []));
  return measured.flatMap((cell): Rule<HelmDetail>[] => {
    const quantity = helmQuantity(cell);
    if (quantity === undefined) return [];
    const key = quantityKey(quantity);
    return [
      {
        paper: 'helm',
        cell,
        policy: '',
        unit: cell.unit,
        published: cell.value,
        noise: typeof cell.value === 'number' && cell.noise !== undefined ? cell.noise / cell.value : undefined,
        use: fittedKeys.has(key) ? 'fit' : 'held-out',
        configuration: key,
        answer: () => {
          const same = measured.filter((other) => keyOf(other) === key);
          return answered(cell, same, quantity, caseOf(cell), constants);
        },
      },
    ];
  });
}

/** Answers of a cell; without a plan that runs there is nothing to compute. */
function answered(
  cell: PublishedCell,
  same: readonly PublishedCell[],
  quantity: HelmQuantity,
  one: HelmCase | undefined,
  constants: HelmConstants,
): Answers<HelmDetail> {
  const shown = (seconds: number | undefined): number | undefined =>
    seconds === undefined ? undefined : inUnit(seconds, cell.unit, quantity.batch);
  const prints = same.flatMap(({ value, unit }) =>
    typeof value === 'number' ? [inUnit(secondsOf(value, unit, quantity.batch), cell.unit, quantity.batch)] : [],
  );
  const plan = one && planOf(one);
  const detail = { quantity, plan, thesis: undefined, aim: undefined, range: printedRange(cell, same), prints };
  if (one === undefined || plan === undefined || plan.outcome !== 'runs') {
    const outcome = plan?.outcome === 'fails' ? ('OOM' as const) : undefined;
    return { predicted: outcome, simulated: outcome, target: undefined, detail };
  }
  const aim = targetOf(quantity, plan.plan);
  return {
    predicted: shown(predictedSeconds(one, plan.plan, constants)),
    simulated: shown(simulatedSeconds(one, plan.plan, constants)),
    target: aim?.limit,
    detail: { ...detail, aim, thesis: shown(thesisSeconds(one, plan.plan)) },
  };
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

/** Whether a comparison keeps its target; undefined without one. */
export function verdictOn({
  predicted,
  published,
  target,
  detail: { range, prints },
}: HelmComparison): Verdict | undefined {
  return verdictOf({ predicted, published, target, range, prints });
}
