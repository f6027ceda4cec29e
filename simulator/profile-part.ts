import { gpuPart, npuPart } from '../engine/cost/chip/operator.ts';
import type { ChipDevice } from '../engine/hardware/chip.ts';
import type { Operator } from '../engine/model/operators.ts';
import { createRecorder } from '../engine/trace/recorder.ts';
import { createSimulation } from './event-loop/simulation.ts';
import { createGpuQueue, createNpu, createSharedMemory } from './hardware/chip.ts';
import { createNoise } from './hardware/processor.ts';

export interface ProfilePartOptions {
  readonly seed: number;
  /** Relative standard deviation of each run's time; 0 unless given. */
  readonly noise?: number;
}

/** Runs a part of an operator on one of a chip's processors while the other rests. @returns seconds */
export type ProfilePart = (processor: 'gpu' | 'npu', operator: Operator, rows: number, tokens: number) => number;

/** Profiles a simulated chip, run by run, as HeteroLLM's profiler does a real one (4.3). */
export function createProfilePart(device: ChipDevice, { seed, noise: deviation = 0 }: ProfilePartOptions): ProfilePart {
  const noise = createNoise(seed, deviation);
  return (processor, operator, rows, tokens) => {
    const simulation = createSimulation();
    const recorder = createRecorder({ spans: false });
    const memory = createSharedMemory(simulation, device.soc.bandwidth);
    const parts = { simulation, recorder, memory, noise, deviceName: device.name };
    if (processor === 'npu') {
      const task = npuPart({ operator, cut: { npuRows: rows, npuLengths: [tokens] } }, device);
      const npu = createNpu(parts, device.soc.npu, () => true);
      simulation.run(simulation.spawn('graph', npu.run('graph', task)));
    } else {
      const others = { npuRows: operator.rows - rows, npuLengths: [tokens] };
      const queue = createGpuQueue(parts);
      queue.submit('kernel', gpuPart({ operator, cut: others, tokens }, device));
      simulation.run(simulation.spawn('kernel', queue.drain()));
    }
    return simulation.now;
  };
}
