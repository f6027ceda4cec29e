import { graphSeconds } from '../../engine/cost/chip/npu.ts';
import type { Task } from '../../engine/cost/chip/shared-memory.ts';
import type { NpuArray } from '../../engine/hardware/device.ts';
import type { OperatorShape } from '../../engine/model/operators.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { ChipParts } from './shared-memory.ts';

/** An NPU, which runs static graphs one after the other. */
export interface Npu {
  /** Generates the graph of an operator for so many tokens on the CPU, unless it exists already. */
  prepare(operator: OperatorShape, tokens: number): Steps;
  run(name: string, task: Task): Steps;
}

/** @param isPrepared whether graphs for so many tokens were generated before the run */
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
    *run(name, { seconds, bytes }) {
      const start = simulation.now;
      const factor = noise(device, 'npu');
      yield memory.run({ seconds: seconds * factor, bytes });
      if (!recorder.wantsSpans) return;
      recorder.span({ device, lane: 'npu', cause: 'compute', name, start, end: simulation.now, args: { bytes } });
    },
  };
}
