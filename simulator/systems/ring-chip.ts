import { checkPromptLength } from '../../engine/cost/chip/phase.ts';
import { chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { deviceIndex } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import { chipPartitions, type Plan, type Stage } from '../../engine/plan/plan.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import { pageFaults } from '../hardware/page-faults.ts';
import { type ChipParts, createSharedMemory } from '../hardware/shared-memory.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { type Chip, createChip, runSteps, type TimedStep } from './chip-steps.ts';
import type { RingDevice } from './ring-device.ts';

export interface RingChipsParts extends Omit<ChipParts, 'memory' | 'deviceName'> {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
}

/**
 * The chips of a ring: devices whose operators are cut between GPU and NPU, by name.
 * @throws InputError for a prompt whose length differs from the one that operators are cut for
 */
export function createRingChips({ cluster, plan, workload, ...parts }: RingChipsParts): ReadonlyMap<string, Chip> {
  const chips = new Map<string, Chip>();
  for (const [deviceName, partition] of chipPartitions(plan)) {
    checkPromptLength(workload, partition);
    const device = chipDevice(cluster.devices[deviceIndex(cluster, deviceName)] as Device);
    const memory = createSharedMemory(parts.simulation, device.soc.bandwidth);
    chips.set(deviceName, createChip({ ...parts, device, partition, memory, deviceName }));
  }
  return chips;
}

/** Runs a stage on a chip, and waits until GPU and NPU are done, since the next device needs the result. */
export function* runChipStage(chip: Chip, device: RingDevice, { from, to }: Stage, steps: readonly TimedStep[]): Steps {
  for (let layer = from; layer < to; layer++) {
    yield* waitForWeights(chip, device, device.weights.layer(layer), `layer ${layer}`);
    device.observe?.('layer', layer);
    yield* runSteps(chip, steps, `layer ${layer}, `);
    device.observe?.('computed', layer);
  }
  yield* chip.gpu.drain();
}

/** Runs the output layer on a chip. */
export function* runChipOutput(chip: Chip, device: RingDevice, steps: readonly TimedStep[]): Steps {
  yield* waitForWeights(chip, device, device.weights.output, 'output layer');
  yield* runSteps(chip, steps, '');
  yield* chip.gpu.drain();
}

/** Waits until all of a layer's weights are in memory. Only then do GPU and NPU begin. */
function* waitForWeights(
  { parts }: Chip,
  { name, reader }: RingDevice,
  range: ByteRange | undefined,
  what: string,
): Steps {
  if (range === undefined) return;
  const { simulation, recorder } = parts;
  const start = simulation.now;
  const mapping = yield* pageFaults(reader, { range });
  if (mapping > 0) yield hold(mapping);
  if (simulation.now === start || !recorder.wantsSpans) return;
  const span = { device: name, lane: 'gpu', cause: 'disk', name: `waits for ${what}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}
