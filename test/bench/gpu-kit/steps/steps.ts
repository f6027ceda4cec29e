import type { Step } from '../step-tools.ts';
import { device } from './device.ts';
import { experts } from './experts.ts';
import { kernels } from './kernels.ts';
import { profile } from './profile.ts';
import { speed } from './speed.ts';
import { splits } from './splits.ts';
import { together } from './together.ts';

/** The steps, in the order of what matters. */
export const STEPS: readonly Step[] = [device, kernels, profile, speed, splits, together, experts];
