import type { Task } from '../../engine/cost/chip/shared-memory.ts';
import type { Steps } from '../event-loop/effect.ts';
import type { Process } from '../event-loop/process.ts';
import type { ChipParts } from './shared-memory.ts';

/** A mobile GPU's queue: kernels run in the order of their submission; submitting does not wait. */
export interface GpuQueue {
  readonly isEmpty: boolean;
  /** When the queue will be empty if kernels take their modelled time, as a control thread predicts it. */
  readonly expectedEnd: number;
  submit(name: string, task: Task): void;
  /** Waits until everything submitted has run. */
  drain(): Steps;
}

interface Kernel {
  readonly name: string;
  readonly task: Task;
}

export function createGpuQueue({ simulation, recorder, memory, noise, deviceName: device }: ChipParts): GpuQueue {
  const submitted: Kernel[] = [];
  /** Runs kernels until none is left; the next submission then starts another process. */
  let worker: Process<void> | undefined;
  let expectedEnd = 0;

  function* work(): Steps {
    for (let kernel = submitted.shift(); kernel !== undefined; kernel = submitted.shift()) {
      const { seconds, bytes } = kernel.task;
      const start = simulation.now;
      const factor = noise(device, 'gpu');
      yield memory.run({ seconds: seconds * factor, bytes });
      if (!recorder.wantsSpans) continue;
      const { name } = kernel;
      recorder.span({ device, lane: 'gpu', cause: 'compute', name, start, end: simulation.now, args: { bytes } });
    }
  }

  return {
    get isEmpty() {
      return worker?.hasEnded !== false;
    },
    get expectedEnd() {
      return expectedEnd;
    },
    submit(name, task) {
      expectedEnd = Math.max(expectedEnd, simulation.now) + task.seconds;
      submitted.push({ name, task });
      if (worker?.hasEnded !== false) worker = simulation.spawn('GPU kernels', work());
    },
    *drain() {
      if (worker?.hasEnded === false) yield worker.join();
    },
  };
}
