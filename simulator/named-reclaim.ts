import type { SimulationOptions } from './simulate.ts';

/** What a `--reclaim` may name. `android` needs numbers of its own: `os` takes a device's. */
export const SIMULATED_RECLAIMS = ['os', 'overflow', 'linux', 'linux-two-list', 'metal'] as const;
export type SimulatedReclaim = (typeof SIMULATED_RECLAIMS)[number];

/** As `simulate` takes it. */
export function simulatedReclaim(reclaim: SimulatedReclaim): NonNullable<SimulationOptions['reclaim']> {
  return reclaim === 'os' || reclaim === 'overflow' ? reclaim : { name: reclaim };
}
