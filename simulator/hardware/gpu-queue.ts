import type { Task } from '../../engine/cost/shared-memory.ts';
import type { Steps } from '../kernel/effect.ts';
import type { Process } from '../kernel/process.ts';
import type { ChipParts } from './chip-parts.ts';

/** A mobile GPU's queue: kernels run in the order of their submission, which waits for none. */
export interface GpuQueue {
  readonly isEmpty: boolean;
  /** When the queue will be empty, by what kernels take without noise: what a thread that knows them predicts. */
  readonly expectedEnd: number;
  submit(name: string, task: Task): void;
  /** Waits until all that is submitted has run. */
  drain(): Steps;
}

export function createGpuQueue({ simulation, recorder, memory, noise, deviceName: device }: ChipParts): GpuQueue {
  let last: Process<void> | undefined;
  let expectedEnd = 0;

  function* run(name: string, { seconds, bytes }: Task, before: Process<void> | undefined): Steps {
    if (before?.hasEnded === false) yield before.join();
    const start = simulation.now;
    const factor = noise(device, 'gpu');
    yield memory.run({ seconds: seconds * factor, bytes });
    recorder.span({ device, lane: 'gpu', cause: 'compute', name, start, end: simulation.now, args: { bytes } });
  }

  return {
    get isEmpty() {
      return last?.hasEnded !== false;
    },
    get expectedEnd() {
      return expectedEnd;
    },
    submit(name, task) {
      expectedEnd = Math.max(expectedEnd, simulation.now) + task.seconds;
      last = simulation.spawn(`GPU kernel ${name}`, run(name, task, last));
    },
    *drain() {
      if (last?.hasEnded === false) yield last.join();
    },
  };
}
