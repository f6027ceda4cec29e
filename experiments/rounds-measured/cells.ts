import type { LabCell } from '../lab/cell.ts';
import { equalCell } from '../lab/equal-cell.ts';
import type { LabPolicy } from '../lab/policies.ts';

/** k: all that divide the eight layers of a device. */
export const ROUNDS = [1, 2, 4, 8] as const;

/** Every policy at every number of rounds. */
export function roundsCells(
  policies: readonly LabPolicy[],
  setting: { readonly memoryShare: number; readonly diskRate: number },
): LabCell[] {
  return policies.flatMap((policy) => ROUNDS.map((rounds) => equalCell({ ...setting, policy, rounds })));
}
