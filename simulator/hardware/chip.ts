import { graphSeconds } from '../../engine/cost/chip/npu.ts';
import { demandOf, ROUNDING, shareBandwidth, type Task } from '../../engine/cost/chip/shared-memory.ts';
import type { NpuArray } from '../../engine/hardware/device.ts';
import type { OperatorShape } from '../../engine/model/operators.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { Alarm } from '../event-loop/clock.ts';
import { Effect, hold, type Source, type Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Process, Simulation } from '../event-loop/simulation.ts';
import type { Noise } from './processor.ts';

/** A memory that several processors use at once. */
export interface SharedMemory {
  /** Runs a task: in its own seconds while the bandwidth suffices for all tasks, otherwise slower by its share. */
  run(task: Task): Effect<void>;
}

/** Parts that the processors of a chip share in a run. */
export interface ChipParts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly memory: SharedMemory;
  readonly noise: Noise;
  readonly deviceName: string;
}

/** @param bandwidth bytes per second of all tasks together */
export function createSharedMemory(simulation: Simulation, bandwidth: number): SharedMemory {
  return new FairMemory(simulation, bandwidth);
}

interface Running {
  readonly task: Task;
  /** Bytes per second that the task needs to run at full speed. */
  readonly demand: number;
  /** Seconds that are left of the task at full speed, as of `since`. */
  left: number;
  /** Seconds of the task that pass in a second. */
  pace: number;
}

/**
 * Every task runs at a pace between 0 and 1: its share of the bandwidth over its demand. Paces change only when a task
 * begins or ends, so one alarm at the first end suffices.
 */
class FairMemory implements SharedMemory, Source<Running> {
  private since = 0;
  private readonly running: Effect<unknown, Running>[] = [];
  private readonly alarm: Alarm;

  constructor(
    private readonly simulation: Simulation,
    private readonly bandwidth: number,
  ) {
    this.alarm = new Alarm(simulation, () => this.finish());
  }

  run(task: Task): Effect<void, Running> {
    return new Effect(this, { task, demand: demandOf(task), left: task.seconds, pace: 1 });
  }

  begin(effect: Effect<unknown, Running>): void {
    this.advance();
    this.running.push(effect);
    this.settle();
  }

  cancel(effect: Effect<unknown, Running>): void {
    this.advance();
    this.running.splice(this.running.indexOf(effect), 1);
    this.settle();
  }

  remaining(effect: Effect<unknown, Running>): number {
    if (effect.state !== 'new') this.advance();
    return effect.detail.left;
  }

  describe({ detail: { task } }: Effect<unknown, Running>): string {
    return `${task.bytes} bytes of memory traffic in ${task.seconds} s or more`;
  }

  private advance(): void {
    const { now } = this.simulation;
    for (const { detail } of this.running) detail.left = Math.max(0, detail.left - (now - this.since) * detail.pace);
    this.since = now;
  }

  /** Computes new paces, and sets the alarm to the first end. */
  private settle(): void {
    let demanded = 0;
    for (const { detail } of this.running) demanded += detail.demand;
    // Usually the bandwidth suffices for all.
    if (demanded <= this.bandwidth) for (const { detail } of this.running) detail.pace = 1;
    else this.share();
    if (this.running.length === 0) this.alarm.clear();
    else this.alarm.set(this.simulation.now + secondsLeft(this.first().detail));
  }

  private share(): void {
    const shares = shareBandwidth(
      this.running.map(({ detail }) => detail.demand),
      this.bandwidth,
    );
    this.running.forEach(({ detail }, index) => {
      detail.pace = detail.demand === 0 ? 1 : (shares[index] as number) / detail.demand;
    });
  }

  /**
   * Ends the task whose end is reached, exactly despite rounding, and those whose ends differ from it by rounding only.
   */
  private finish(): void {
    const first = this.first();
    this.advance();
    for (const effect of [...this.running]) {
      if (effect !== first && effect.detail.left > ROUNDING * effect.detail.task.seconds) continue;
      this.running.splice(this.running.indexOf(effect), 1);
      effect.succeed(undefined);
    }
    this.settle();
  }

  /** The task that ends first; among equals the one that began first. */
  private first(): Effect<unknown, Running> {
    return this.running.reduce((one, other) => (secondsLeft(other.detail) < secondsLeft(one.detail) ? other : one));
  }
}

function secondsLeft({ left, pace }: Running): number {
  return left / pace;
}

/** A mobile GPU's queue: kernels run in the order of their submission, each to its end; submitting does not wait. */
export interface GpuQueue {
  /** Whether all of the model's kernels have run. */
  readonly isEmpty: boolean;
  /** When the model's kernels will have run if they take their modelled time, as a control thread predicts it. */
  readonly expectedEnd: number;
  submit(name: string, task: Task): void;
  /** Waits until all of the model's kernels have run. */
  drain(): Steps;
  /** Submits another program's kernel, and waits until it has run. */
  render(name: string, task: Task): Steps;
}

interface Kernel {
  readonly name: string;
  readonly task: Task;
  /** Happens when it has run; a kernel of the model has none. */
  readonly ended?: OneShot<void>;
}

export function createGpuQueue({ simulation, recorder, memory, noise, deviceName: device }: ChipParts): GpuQueue {
  const submitted: Kernel[] = [];
  /** Runs kernels until none is left; the next submission then starts another process. */
  let worker: Process<void> | undefined;
  let expectedEnd = 0;
  /** Kernels of the model that have not run, and what happens when there is none, if anyone waits for it. */
  let pending = 0;
  let drained: OneShot<void> | undefined;

  function* work(): Steps {
    for (let kernel = submitted.shift(); kernel !== undefined; kernel = submitted.shift()) {
      const { seconds, bytes, calculating = seconds } = kernel.task;
      const start = simulation.now;
      const factor = noise(device, 'gpu');
      yield memory.run({ ...kernel.task, seconds: seconds * factor });
      if (recorder.wantsSpans) {
        const { name } = kernel;
        const args = { bytes, calculating: calculating * factor };
        recorder.span({ device, lane: 'gpu', cause: 'compute', name, start, end: simulation.now, args });
      }
      if (kernel.ended !== undefined) kernel.ended.succeed();
      else if (--pending === 0) {
        drained?.succeed();
        drained = undefined;
      }
    }
  }

  const add = (kernel: Kernel): void => {
    submitted.push(kernel);
    if (worker?.hasEnded !== false) worker = simulation.spawn('GPU kernels', work());
  };

  return {
    get isEmpty() {
      return pending === 0;
    },
    get expectedEnd() {
      return expectedEnd;
    },
    submit(name, task) {
      expectedEnd = Math.max(expectedEnd, simulation.now) + task.seconds;
      pending++;
      add({ name, task });
    },
    *drain() {
      if (pending === 0) return;
      drained ??= createOneShot('the GPU to run all kernels of the model');
      yield drained.wait();
    },
    *render(name, task) {
      const ended = createOneShot<void>(`the GPU to run ${name}`);
      add({ name, task, ended });
      yield ended.wait();
    },
  };
}

/** An NPU, which runs static graphs one after the other. */
export interface Npu {
  /** Generates the graph of an operator for this many tokens on the CPU, unless it exists already. */
  prepare(operator: OperatorShape, tokens: number): Steps;
  run(name: string, task: Task): Steps;
}

/** @param isPrepared whether graphs for this many tokens were generated before the run */
export function createNpu(
  { simulation, recorder, memory, noise, deviceName: device }: ChipParts,
  array: NpuArray,
  isPrepared: (tokens: number) => boolean,
): Npu {
  const generated = new Set<string>();
  return {
    *prepare(operator, tokens) {
      const graph = `${operator.name} for ${tokens} tokens`;
      if (isPrepared(tokens) || generated.has(graph)) return;
      const start = simulation.now;
      yield hold(graphSeconds(operator, tokens, array));
      generated.add(graph);
      const span = { device, lane: 'cpu', cause: 'overhead', name: `generates the graph of ${graph}` } as const;
      recorder.span({ ...span, start, end: simulation.now, args: {} });
    },
    *run(name, task) {
      const { seconds, bytes, calculating = seconds } = task;
      const start = simulation.now;
      const factor = noise(device, 'npu');
      yield memory.run({ ...task, seconds: seconds * factor });
      if (!recorder.wantsSpans) return;
      const args = { bytes, calculating: calculating * factor };
      recorder.span({ device, lane: 'npu', cause: 'compute', name, start, end: simulation.now, args });
    },
  };
}
