import type { Step } from '../step-tools.ts';
import { device } from './device.ts';
import { kernels } from './kernels.ts';
import { profile } from './profile.ts';
import { speed } from './speed.ts';

/** The steps, in the order of what matters. */
export const STEPS: readonly Step[] = [device, kernels, profile, speed];
