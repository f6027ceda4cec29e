import { type LabCell, shareBytes } from '../../datasets/lab/cell.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { DeviceLimits } from './cgroups/limits.ts';
import type { Lab } from './lab.ts';

/** The limits that give each device the cell's share of memory for weights, in addition to what its process needs. */
export function cellLimits(
  { cluster, devices }: Pick<Lab, 'cluster' | 'devices'>,
  { model, plan, cell, ownBytes }: CellOnLab,
): DeviceLimits[] {
  return devices.map((device, index) => ({
    memory: (cell.memoryShares[index] as number) * shareBytes(plan, model, device) + (ownBytes[index] as number),
    diskRate: cell.diskRates[index] as number,
    cores: cluster.devices[index]?.cpu.cores ?? 1,
  }));
}

/** A cell with its model and plan, and what each device's process takes in addition to weights. */
interface CellOnLab {
  readonly cell: LabCell;
  readonly model: Model;
  readonly plan: Plan;
  readonly ownBytes: readonly number[];
}
