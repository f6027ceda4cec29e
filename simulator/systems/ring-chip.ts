import { checkPromptLength } from '../../engine/cost/check-prompt-length.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { deviceIndex } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { socDevice } from '../../engine/hardware/soc.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import { chipPartitions } from '../../engine/plan/chip-partitions.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { ChipParts } from '../hardware/chip-parts.ts';
import { createSharedMemory } from '../hardware/shared-memory.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { type Chip, type ChipStep, createChip, runSteps } from './chip.ts';
import type { RingDevice } from './ring-device.ts';

export interface RingChipsParts extends Omit<ChipParts, 'memory' | 'deviceName'> {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
}

/** The devices of a ring whose operators are cut between GPU and NPU. @throws InputError for a prompt that none is cut for */
export function createRingChips({ cluster, plan, workload, ...parts }: RingChipsParts): ReadonlyMap<string, Chip> {
  const chips = new Map<string, Chip>();
  for (const [deviceName, partition] of chipPartitions(plan)) {
    checkPromptLength(workload, partition);
    const device = socDevice(cluster.devices[deviceIndex(cluster, deviceName)] as Device);
    const memory = createSharedMemory(parts.simulation, device.soc.bandwidth);
    chips.set(deviceName, createChip({ ...parts, device, partition, memory, deviceName }));
  }
  return chips;
}

/** A stage's layers on a chip, until its GPU and NPU are done: the result is what the next device waits for. */
export function* runChipStage(chip: Chip, device: RingDevice, { from, to }: Stage, steps: readonly ChipStep[]): Steps {
  for (let layer = from; layer < to; layer++) {
    yield* arrive(chip, device, device.weights.layer(layer), `layer ${layer}`);
    device.observe?.('layer', layer);
    yield* runSteps(chip, steps, `layer ${layer}, `);
    device.observe?.('computed', layer);
  }
  yield* chip.gpu.drain();
}

/** The output layer on a chip. */
export function* runChipOutput(chip: Chip, device: RingDevice, steps: readonly ChipStep[]): Steps {
  yield* arrive(chip, device, device.weights.output, 'output layer');
  yield* runSteps(chip, steps, '');
  yield* chip.gpu.drain();
}

/** Waits for weights: GPU and NPU find them in memory, all of a layer's before it begins. */
function* arrive({ parts }: Chip, { name, reader }: RingDevice, range: ByteRange | undefined, what: string): Steps {
  if (range === undefined) return;
  const { simulation, recorder } = parts;
  const start = simulation.now;
  const mapping = yield* reader.need(range);
  if (mapping > 0) yield hold(mapping);
  if (simulation.now === start || !recorder.wantsSpans) return;
  const span = { device: name, lane: 'gpu', cause: 'disk', name: `waits for ${what}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}
