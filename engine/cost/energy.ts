import type { Power } from '../hardware/device.ts';
import type { Ends } from './chip/shared-memory.ts';

/** Seconds in which neither, one, or both of a chip's GPU and NPU work. */
export type StateSeconds = Readonly<Record<keyof Power, number>>;

export const NO_STATES: StateSeconds = { idle: 0, gpu: 0, npu: 0, both: 0 };

/** States of two tasks that start together, the GPU's first and the NPU's second. */
export function statesOf({ first: gpu, second: npu }: Ends): StateSeconds {
  const both = Math.min(gpu, npu);
  return { idle: 0, gpu: gpu - both, npu: npu - both, both };
}

/** a + times · b. */
export function addStates(a: StateSeconds, b: StateSeconds, times = 1): StateSeconds {
  return {
    idle: a.idle + times * b.idle,
    gpu: a.gpu + times * b.gpu,
    npu: a.npu + times * b.npu,
    both: a.both + times * b.both,
  };
}

/** Joules: Σ power of a state × seconds in that state. */
export function energyOf(states: StateSeconds, power: Power): number {
  return states.idle * power.idle + states.gpu * power.gpu + states.npu * power.npu + states.both * power.both;
}

export function totalStateSeconds({ idle, gpu, npu, both }: StateSeconds): number {
  return idle + gpu + npu + both;
}
