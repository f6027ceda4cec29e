import type { FieldMeasurement } from '../../datasets/field.ts';
import { median } from '../report/median.ts';
import type { KnownSetting } from './predict-cell.ts';

/** A measurement that was predicted from specifications. Tokens per second. */
export interface PredictedCell {
  readonly measurement: FieldMeasurement;
  readonly known: KnownSetting;
  readonly predicted: number;
}

/** A predicted cell with the factor that belongs to its program. */
export interface JudgedCell extends PredictedCell {
  /** `fitted`: its machine was drawn, so that the efficiencies are fitted to it. */
  readonly use: 'fitted' | 'judged';
  readonly efficiency: number;
  /** The group whose machines the efficiency was fitted on; '' for none, where it is 1. */
  readonly fittedOn: string;
  /** ln(predicted / measured), without and with the efficiency. */
  readonly error: number;
  readonly errorFitted: number;
}

/** An efficiency, and what it was fitted to. */
export interface Efficiency {
  readonly group: string;
  readonly efficiency: number;
  readonly machines: number;
  readonly cells: number;
}

/** One machine in so many is drawn. */
const DRAWN = 3;

/** FNV-1a of a text's UTF-8 bytes, 32 bits (Fowler, Noll, Vo). */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** Whether efficiencies are fitted on a machine: a third of all, by a hash of its name. */
export function isDrawn(machine: string): boolean {
  return fnv1a(machine) % DRAWN === 0;
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
export function fitEfficiencies(cells: readonly PredictedCell[]): ReadonlyMap<string, Efficiency> {
  const ratios = new Map<string, Map<string, number[]>>();
  for (const { measurement, known, predicted } of cells) {
    if (!isDrawn(known.machine)) continue;
    for (const group of groupsOf(known)) {
      const machines = ratios.get(group) ?? new Map<string, number[]>();
      ratios.set(group, machines);
      const own = machines.get(known.machine) ?? [];
      machines.set(known.machine, [...own, measurement.tokensPerSecond / predicted]);
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

/** Cells with their errors, without and with the efficiencies that were fitted on drawn machines. */
export function judgeCells(
  cells: readonly PredictedCell[],
  efficiencies: ReadonlyMap<string, Efficiency>,
): readonly JudgedCell[] {
  return cells.map((cell) => {
    const { measurement, known, predicted } = cell;
    const fit = groupsOf(known).flatMap((group) => efficiencies.get(group) ?? [])[0];
    const efficiency = fit?.efficiency ?? 1;
    const error = Math.log(predicted / measurement.tokensPerSecond);
    return {
      ...cell,
      use: isDrawn(known.machine) ? 'fitted' : 'judged',
      efficiency,
      fittedOn: fit?.group ?? '',
      error,
      errorFitted: error + Math.log(efficiency),
    };
  });
}
