import type { PublishedCell } from '../../../datasets/published.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { cellAt } from '../comparison.ts';
import { type HelmCase, planOf, predictedSeconds } from './answer.ts';
import { type CellPlace, FITTED_CELLS, type FittedCell, type HelmConstants } from './constants.ts';
import { helmQuantity, secondsOf } from './quantities.ts';

/** The constants before fitting: rates as specified, and no cost for what has no specification. */
const UNFITTED: HelmConstants = {
  gpuEfficiency: 1,
  vllmBlock: 0,
  dispatch: {},
  cpuBandwidth: {},
  promptRate: {},
  attentionShare: 0,
  staging: Number.POSITIVE_INFINITY,
  dynamicCache: 1,
  requestStart: {},
};

/** Ranges that hold any machine of the last ten years: seconds, bytes per second, multiples and shares. */
const RANGES = {
  dispatch: [1e-6, 1e-1],
  cpuBandwidth: [1e8, 1e12],
  promptRate: [1e-3, 10],
  attentionShare: [1e-6, 1],
  staging: [1e8, 1e12],
  dynamicCache: [1, 10],
  requestStart: [1e-6, 1],
} as const;

/** A cell to fit to, with its case, plan and printed seconds. */
interface FittingCase {
  readonly one: HelmCase;
  readonly plan: Plan;
  readonly seconds: number;
}

/**
 * Fits every constant to its cells, one after the other.
 * @param caseOf the system, model and machine of a cell
 * @throws RangeError where a cell isn't on file, isn't marked `fit`, or no constant gives it
 */
export function calibrate(cells: readonly PublishedCell[], caseOf: (cell: PublishedCell) => HelmCase): HelmConstants {
  const find = (place: CellPlace): FittingCase => {
    const cell = fittedCell(cells, place);
    const quantity = helmQuantity(cell);
    if (quantity === undefined || typeof cell.value !== 'number') throw new RangeError(`${text(place)} is no time`);
    const one = caseOf(cell);
    const planned = planOf(one);
    if (planned.outcome !== 'runs') throw new RangeError(`${text(place)}: ${planned.why}`);
    return { one, plan: planned.plan, seconds: secondsOf(cell.value, cell.unit, quantity.batch) };
  };
  let constants = UNFITTED;
  for (const { constant, machine, cells: places } of FITTED_CELLS) {
    const before = constants;
    const [first, second] = places.map(find) as [FittingCase, FittingCase?];
    if (constant === 'gpuEfficiency') {
      if (second === undefined)
        throw new RangeError('two cells tell the share of the bandwidth from the time per block');
      constants = { ...before, ...fitReading(first, second) };
      continue;
    }
    const at = (value: number): HelmConstants => withConstant(before, constant, machine, value);
    constants = at(fitConstant(first.seconds, RANGES[constant], (value) => secondsWith(first, at(value))));
  }
  return constants;
}

function withConstant(
  constants: HelmConstants,
  constant: Exclude<FittedCell['constant'], 'gpuEfficiency'>,
  machine: string,
  value: number,
): HelmConstants {
  switch (constant) {
    case 'attentionShare':
    case 'staging':
    case 'dynamicCache':
      return { ...constants, [constant]: value };
    default:
      return { ...constants, [constant]: { ...constants[constant], [machine]: value } };
  }
}

/** A token's time is linear in 1 / η_m and in the time per block, so two cells give both. */
function fitReading(one: FittingCase, other: FittingCase): Pick<HelmConstants, 'gpuEfficiency' | 'vllmBlock'> {
  const step = 1e-4;
  const rows = [one, other].map((fitted) => {
    const base = secondsWith(fitted, UNFITTED);
    const reading = secondsWith(fitted, { ...UNFITTED, gpuEfficiency: 0.5 }) - base;
    const block = (secondsWith(fitted, { ...UNFITTED, vllmBlock: step }) - base) / step;
    return { reading, block, left: fitted.seconds - base };
  });
  const [a, b] = rows as [(typeof rows)[number], (typeof rows)[number]];
  const determinant = a.reading * b.block - b.reading * a.block;
  const slower = (a.left * b.block - b.left * a.block) / determinant;
  const vllmBlock = (a.reading * b.left - b.reading * a.left) / determinant;
  return { gpuEfficiency: 1 / (1 + slower), vllmBlock };
}

function secondsWith({ one, plan }: FittingCase, constants: HelmConstants): number {
  return predictedSeconds(one, plan, constants);
}

/** The cell at a place, which must be marked `fit`. @throws RangeError */
export function fittedCell(cells: readonly PublishedCell[], place: CellPlace): PublishedCell {
  const cell = cellAt(cells, place);
  if (cell.use !== 'fit') throw new RangeError(`helm.csv doesn’t mark ${text(place)} as one to fit to`);
  return cell;
}

function text({ table, row, column }: CellPlace): string {
  return `${table}, ${row}, ${column}`;
}

/** Steps of the bisection: they halve a range of 1e12 to below a part in 1e9. */
const STEPS = 80;

/**
 * The constant at which a model's answer is `target`, between `low` and `high`, by bisection on a logarithmic scale.
 * @param answer monotonic in the constant
 * @throws RangeError where the target lies outside the answers at both ends
 */
export function fitConstant(
  target: number,
  [low, high]: readonly [number, number],
  answer: (constant: number) => number,
): number {
  const rises = answer(high) > answer(low);
  const [least, most] = rises ? [answer(low), answer(high)] : [answer(high), answer(low)];
  if (!(target >= least && target <= most)) {
    throw new RangeError(`no constant between ${low} and ${high} gives ${target}: the ends give ${least} and ${most}`);
  }
  let [from, to] = [low, high];
  for (let step = 0; step < STEPS; step++) {
    const middle = Math.sqrt(from * to);
    if (answer(middle) < target === rises) from = middle;
    else to = middle;
  }
  return Math.sqrt(from * to);
}
