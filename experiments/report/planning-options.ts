import { readNumber } from '../../engine/terminal/options.ts';
import { option } from './options.ts';

/** Options of the experiments that plan. */

/** The limit to memory pressure (SchedulingProblem.maxPressure). */
export const MAX_PRESSURE = option(
  '--max-pressure <share>',
  'most bytes that can’t be reclaimed on a device, as a share of its RAM, for ring-aware: 0.06 as prima.cpp promises (default: what is available)',
  (flag, given) => readNumber(flag, given, 0.001, 1),
);
