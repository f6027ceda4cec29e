import type { FieldMeasurement } from '../../datasets/field.ts';
import { median } from '../report/median.ts';
import { isDrawn } from './draw.ts';
import { type FieldParts, type FittedParts, fitShares, rateOfParts, type Shares } from './parts.ts';
import type { KnownSetting } from './predict-cell.ts';

/** A measurement that was predicted from specifications. Tokens per second. */
export interface PredictedCell {
  readonly measurement: FieldMeasurement;
  readonly known: KnownSetting;
  /** The first prediction, its round, and what it was with the efficiencies of its time, where these were fixed too. */
  readonly predicted: number;
  readonly round: number | undefined;
  readonly withEfficiency: number | undefined;
  /** Prediction by the planner of today, and the parts of it, where one GPU computes the whole model. */
  readonly today: number;
  readonly parts: FieldParts | undefined;
}

/** A predicted cell with the efficiency that belongs to its program. */
export interface JudgedCell extends PredictedCell {
  /** `fitted`: its machine was drawn, so that efficiencies are fitted to it. */
  readonly use: 'fitted' | 'judged';
  /** The factor by which the efficiency of the time changes the first prediction. */
  readonly efficiency: number;
  /** The group whose machines the efficiency was fitted on; '' for none, where it is 1. */
  readonly fittedOn: string;
  /** Today’s prediction with today’s efficiency: in parts, or by a factor. */
  readonly todayFitted: number;
  /** ln(predicted / measured): the first prediction, it with its efficiency, today’s, and today’s with its. */
  readonly error: number;
  readonly errorFitted: number;
  readonly errorToday: number;
  readonly errorTodayFitted: number;
}

/** An efficiency, and what it was fitted to. */
export interface Efficiency {
  readonly group: string;
  readonly efficiency: number;
  readonly machines: number;
  readonly cells: number;
}

/**
 * Whether today’s efficiencies are fitted on a cell: those of NPUs on a third of their models, by a hash of the name, and
 * judged on the others, since a program has few chips; those of other processors on drawn machines.
 */
export function isDrawnToday({ processor, model, machine }: KnownSetting): boolean {
  return isDrawn(processor === 'npu' ? model : machine);
}

/**
 * The groups to which a cell belongs, the narrowest first: program, kind of processor, bits of the format and phase; the
 * same without the format; kind of processor and phase. A cell takes the efficiency of the first that has a drawn machine.
 */
export function groupsOf({ program, processor, format, test }: KnownSetting): readonly string[] {
  return [
    `${program}, ${processor}, ${format.bits} bit, ${test.phase}`,
    `${program}, ${processor}, ${test.phase}`,
    `${processor}, ${test.phase}`,
  ];
}

/**
 * The efficiency of every group with a drawn machine: the median of its machines, each with the median of measured by
 * predicted over its cells, so that a machine with many cells counts once.
 */
export function fitEfficiencies(
  cells: readonly PredictedCell[],
  predictedOf: (cell: PredictedCell) => number,
  isFitted: (known: KnownSetting) => boolean = ({ machine }) => isDrawn(machine),
): ReadonlyMap<string, Efficiency> {
  const ratios = new Map<string, Map<string, number[]>>();
  for (const cell of cells) {
    const { measurement, known } = cell;
    if (!isFitted(known)) continue;
    for (const group of groupsOf(known)) {
      const machines = ratios.get(group) ?? new Map<string, number[]>();
      ratios.set(group, machines);
      const own = machines.get(known.machine) ?? [];
      machines.set(known.machine, [...own, measurement.tokensPerSecond / predictedOf(cell)]);
    }
  }
  return new Map(
    [...ratios].map(([group, machines]) => {
      const each = [...machines.values()];
      const efficiency = median(each.map((own) => median(own)));
      return [group, { group, efficiency, machines: each.length, cells: each.flat().length }];
    }),
  );
}

/** Shares of the rates of GPUs, and what they were fitted to. */
export interface GroupShares {
  readonly group: string;
  readonly shares: Shares;
  readonly machines: number;
  readonly cells: number;
}

/** The groups whose shares a cell takes, the narrowest first: program, maker of the GPU and phase; maker and phase. */
export function partGroupsOf({ program, maker, test }: KnownSetting): readonly string[] {
  return [`${program}, ${maker}, ${test.phase}`, `${maker}, ${test.phase}`];
}

/** The shares of every group with a drawn machine (fitShares). */
export function fitGroupShares(cells: readonly PredictedCell[]): ReadonlyMap<string, GroupShares> {
  const groups = new Map<string, FittedParts[]>();
  for (const { known, parts, measurement } of cells) {
    if (parts === undefined || !isDrawn(known.machine)) continue;
    const cell = { machine: known.machine, parts, measured: measurement.tokensPerSecond };
    for (const group of partGroupsOf(known)) groups.set(group, [...(groups.get(group) ?? []), cell]);
  }
  return new Map(
    [...groups].map(([group, own]) => [
      group,
      {
        ...{ group, cells: own.length, machines: new Set(own.map(({ machine }) => machine)).size },
        shares: fitShares((own[0] as FittedParts).parts.phase, own),
      },
    ]),
  );
}

interface Fits {
  /** Factors on first predictions of the rounds that fitted one. */
  readonly first: ReadonlyMap<string, Efficiency>;
  /** Factors on predictions of today, and shares of GPUs. */
  readonly efficiencies: ReadonlyMap<string, Efficiency>;
  readonly shares: ReadonlyMap<string, GroupShares>;
}

/** Cells with their errors, without and with efficiencies, which are fitted on drawn machines. */
export function judgeCells(cells: readonly PredictedCell[], fits: Fits): readonly JudgedCell[] {
  return cells.map((cell) => {
    const { measurement, known, predicted, withEfficiency, today } = cell;
    const errorOf = (rate: number): number => Math.log(rate / measurement.tokensPerSecond);
    const todays = todaysRate(cell, fits);
    const fit = groupsOf(known).flatMap((group) => fits.first.get(group) ?? [])[0];
    const isFixed = withEfficiency !== undefined || cell.round === undefined;
    const fitted = isFixed ? (withEfficiency ?? todays.rate) : predicted * (fit?.efficiency ?? 1);
    return {
      ...cell,
      use: isDrawn(known.machine) ? 'fitted' : 'judged',
      efficiency: fitted / predicted,
      fittedOn: isFixed ? todays.group : (fit?.group ?? ''),
      todayFitted: todays.rate,
      error: errorOf(predicted),
      errorFitted: errorOf(fitted),
      errorToday: errorOf(today),
      errorTodayFitted: errorOf(todays.rate),
    };
  });
}

/** Machines that a group by format needs before it counts in place of its program’s: the median of one is its own. */
const ENOUGH = 3;

/** Today’s rate with efficiency: in parts for one GPU, by a factor for others. */
function todaysRate({ known, parts, today }: PredictedCell, { efficiencies, shares }: Fits) {
  const own = parts && partGroupsOf(known).flatMap((group) => shares.get(group) ?? [])[0];
  if (parts !== undefined && own !== undefined) return { rate: rateOfParts(parts, own.shares), group: own.group };
  const [byFormat, ...wider] = groupsOf(known).map((group) => efficiencies.get(group));
  const factor =
    byFormat !== undefined && byFormat.machines >= ENOUGH ? byFormat : wider.find((one) => one !== undefined);
  return { rate: today * (factor?.efficiency ?? 1), group: factor?.group ?? '' };
}
