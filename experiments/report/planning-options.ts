import { InputError } from '../../engine/input/input-error.ts';
import type { SchedulerName } from '../../engine/schedule/registry.ts';
import { readNumber } from '../../engine/terminal/options.ts';
import { option } from './options.ts';

/** Options of the experiments that plan. */

/** The limit to memory pressure (SchedulingProblem.maxPressure). */
export const MAX_PRESSURE = option(
  '--max-pressure <share>',
  'largest share of a device’s RAM that can’t be reclaimed, for ring-aware: 0.06 as prima.cpp promises (default: what is available)',
  (flag, given) => readNumber(flag, given, 0.001, 1),
);

/** @throws InputError for a limit that none of the schedulers keeps to */
export function checkMaxPressure(maxPressure: number | undefined, schedulers: readonly SchedulerName[]): void {
  if (maxPressure !== undefined && !schedulers.includes('ring-aware'))
    throw new InputError('--max-pressure', 'is a limit that only ring-aware keeps to; add it to the schedulers');
}
