import { z } from 'zod';
import type { Evaluate } from '../sweep/sweep.ts';

/** Points that only wait: workers share processors as if each had its own. */
export interface WaitingPoints {
  readonly seconds: number;
  /** Tells a sweep from others, so that nothing is taken from their results. */
  readonly run: string;
}

export const RESULT = z.int();

export default function createEvaluate(setting: unknown): Evaluate {
  const { seconds } = setting as WaitingPoints;
  const never = new Int32Array(new SharedArrayBuffer(4));
  return (point) => {
    Atomics.wait(never, 0, 0, 1000 * seconds);
    return point;
  };
}
