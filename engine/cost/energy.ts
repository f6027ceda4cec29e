import type { Power } from '../hardware/device.ts';
import type { Ends, Task } from './chip/shared-memory.ts';

/** Seconds in which a processor calculates, and in which it has work but waits for the memory. */
export interface Activity {
  readonly calculating: number;
  readonly waiting: number;
}

/** Activity of a chip's processors over `seconds`. A processor without work neither calculates nor waits. */
export interface ChipActivity {
  readonly seconds: number;
  readonly gpu: Activity;
  readonly npu: Activity;
}

export const NO_ACTIVITY: ChipActivity = {
  seconds: 0,
  gpu: { calculating: 0, waiting: 0 },
  npu: { calculating: 0, waiting: 0 },
};

/** A processor's activity during a task that takes `seconds`: what isn't arithmetic waits for the memory. */
export function activityOf({ seconds: alone, calculating = alone }: Task, seconds: number): Activity {
  return { calculating, waiting: seconds - calculating };
}

/** The activity of two tasks that start together, the GPU's first and the NPU's second. */
export function activityOfPair(gpu: Task, npu: Task, { first, second }: Ends): ChipActivity {
  return { seconds: Math.max(first, second), gpu: activityOf(gpu, first), npu: activityOf(npu, second) };
}

/** a + times · b. */
export function addActivity(a: ChipActivity, b: ChipActivity, times = 1): ChipActivity {
  const sum = (one: Activity, other: Activity): Activity => ({
    calculating: one.calculating + times * other.calculating,
    waiting: one.waiting + times * other.waiting,
  });
  return { seconds: a.seconds + times * b.seconds, gpu: sum(a.gpu, b.gpu), npu: sum(a.npu, b.npu) };
}

/**
 * Joules of a chip: P_idle T + Σ over GPU and NPU of P_calculating t_calculating + P_waiting t_waiting. Powers of
 * processors are what each adds to the idle chip, and don't depend on each other.
 */
export function energyOf({ seconds, gpu, npu }: ChipActivity, power: Power): number {
  const added = (of: Activity, watts: Power['gpu']): number =>
    of.calculating * watts.calculating + of.waiting * watts.waiting;
  return seconds * power.idle + added(gpu, power.gpu) + added(npu, power.npu);
}
