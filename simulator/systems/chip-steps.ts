import { kernelTask } from '../../engine/cost/chip/gpu.ts';
import { type OperatorParts, operatorParts } from '../../engine/cost/chip/operator.ts';
import { checkPromptLength, tokensOf, workOf } from '../../engine/cost/chip/phase.ts';
import type { ChipCase } from '../../engine/cost/chip/predict-chip.ts';
import { NO_TASK, type Task } from '../../engine/cost/chip/shared-memory.ts';
import { type ChipStep, chipSteps } from '../../engine/cost/chip/steps.ts';
import { COPIES_PER_PART, waitForFlag } from '../../engine/cost/chip/synchronisation.ts';
import { chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import { chipPartitions, type Plan, type Stage } from '../../engine/plan/plan.ts';
import type { Lane } from '../../engine/trace/trace.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import {
  type ChipParts,
  createGpuQueue,
  createNpu,
  createSharedMemory,
  type GpuQueue,
  type Npu,
} from '../hardware/chip.ts';
import { pageFaults } from '../hardware/page-faults.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import type { RingDevice } from './ring-device.ts';

/** A chip in a simulation, the model that it runs, and how its operators are cut. */
export type SimulatedChip = ChipParts & ChipCase;

/** A chip in a run. */
export interface Chip {
  readonly parts: SimulatedChip;
  readonly gpu: GpuQueue;
  readonly npu: Npu;
  /** The synchronisation before the next kernel already includes the time to submit it. */
  isSubmitted: boolean;
}

/** A step and its two parts, each with the seconds that it takes alone. */
export interface TimedStep extends OperatorParts {
  readonly name: string;
}

/** The steps of every layer, and those after the last layer. */
export interface TimedSteps {
  readonly layer: readonly TimedStep[];
  readonly output: readonly TimedStep[];
}

export function createChip(parts: SimulatedChip): Chip {
  const { partition, device } = parts;
  const isPrepared = (tokens: number): boolean => partition.graphs === 'prepared' || tokens === 1;
  return { parts, gpu: createGpuQueue(parts), npu: createNpu(parts, device.soc.npu, isPrepared), isSubmitted: false };
}

/**
 * The steps of a chip in a phase, cut by its partition.
 * @param at tokens in the KV cache in decoding, and those that are decoded together
 */
export function timedSteps(
  chip: ChipCase,
  phase: 'prefill' | 'decode',
  at: { readonly context: number; readonly decoded?: number },
): TimedSteps {
  const { model, partition, device, times, kvFormat } = chip;
  const inPhase = { partition, phase, kvFormat, ...at };
  const { layer, output } = chipSteps(model, tokensOf(inPhase));
  const planned = (step: ChipStep): TimedStep => {
    if (step.kind === 'kernel') return { name: step.name, gpu: kernelTask(step.work, device.gpu, phase), npu: NO_TASK };
    const { operator } = step;
    const { name } = operator;
    return { name, ...operatorParts({ operator, ...workOf(inPhase, name) }, device, times) };
  };
  return { layer: layer.map(planned), output: output.map(planned) };
}

/**
 * Runs steps one after the other (HeteroLLM 4): the CPU is the control plane, which submits kernel after kernel to the
 * GPU's queue and, if the NPU has a part of an operator, waits for its input, notifies the NPU, and continues when the
 * NPU is done. GPU and NPU share the memory. The steps end when everything is submitted; the caller may have to drain
 * the GPU's queue.
 * @param prefix prefix of the steps' names in the trace
 */
export function* runSteps(chip: Chip, steps: readonly TimedStep[], prefix: string): Steps {
  const synchronise = chip.parts.partition.synchronisation === 'fast' ? synchroniseFast : synchroniseNaively;
  for (const step of steps) {
    const name = prefix + step.name;
    if (step.npu.seconds === 0) yield* submit(chip, name, step.gpu);
    else yield* synchronise(chip, name, step);
  }
}

function* submit(chip: Chip, name: string, task: Task): Steps {
  if (!chip.isSubmitted) yield hold(chip.parts.device.soc.gpu.queued);
  chip.isSubmitted = false;
  chip.gpu.submit(name, task);
}

/**
 * Runs an operator on GPU and NPU with fast synchronisation (HeteroLLM 4.2): the thread sleeps for as long as it
 * expects the GPU's kernels to take, in whole granules, then polls the flag next to the operator's input, and notifies
 * the NPU. Once the NPU is done it continues: if the GPU ended before, its queue is empty and the next kernel starts
 * late; otherwise the next kernel is queued in time.
 */
function* synchroniseFast(chip: Chip, name: string, { gpu, npu }: OperatorParts): Steps {
  const { simulation, device } = chip.parts;
  const { synchronisation } = device.soc;
  const predicted = Math.max(0, chip.gpu.expectedEnd - simulation.now);
  const { sleep } = waitForFlag(predicted, predicted, synchronisation);
  if (sleep > 0) yield hold(sleep);
  const awake = simulation.now;
  yield* chip.gpu.drain();
  const { polling } = waitForFlag(0, simulation.now - awake, { ...synchronisation, sleep: 0 });
  const left = awake + polling - simulation.now;
  if (left > 0) yield hold(left);
  record(chip, 'cpu', `polls for the input of ${name}`, awake);
  yield* busy(chip, 'cpu', `notifies the NPU of ${name}`, synchronisation.notify);
  if (gpu.seconds > 0) chip.gpu.submit(name, gpu);
  yield* chip.npu.run(name, npu);
  // A kernel that ends at this instant counts as ended.
  yield hold(0);
  if (!chip.gpu.isEmpty) return;
  yield* busy(chip, 'cpu', `submits to the empty queue after ${name}`, device.soc.gpu.drained);
  chip.isSubmitted = true;
}

/**
 * Runs an operator on GPU and NPU with naive synchronisation (HeteroLLM 3.1): the queue is drained, each part's input
 * is copied through the CPU's memory, and so are the results once both are done; then the queue is filled again.
 */
function* synchroniseNaively(chip: Chip, name: string, { gpu, npu }: OperatorParts): Steps {
  const { synchronisation, gpu: queue } = chip.parts.device.soc;
  const copies = (gpu.seconds > 0 ? 2 : 1) * (COPIES_PER_PART / 2) * synchronisation.copy;
  yield* chip.gpu.drain();
  yield* busy(chip, 'link', `copies the input of ${name}`, copies);
  yield* busy(chip, 'cpu', `notifies the NPU of ${name}`, synchronisation.notify);
  if (gpu.seconds > 0) chip.gpu.submit(name, gpu);
  yield* chip.npu.run(name, npu);
  yield* chip.gpu.drain();
  yield* busy(chip, 'link', `copies the result of ${name}`, copies);
  yield* busy(chip, 'cpu', `submits to the empty queue after ${name}`, queue.drained);
  chip.isSubmitted = true;
}

function* busy(chip: Chip, lane: Lane, name: string, seconds: number): Steps {
  const start = chip.parts.simulation.now;
  yield hold(seconds);
  record(chip, lane, name, start);
}

function record({ parts: { simulation, recorder, device } }: Chip, lane: Lane, name: string, start: number): void {
  if (!recorder.wantsSpans) return;
  const cause = lane === 'link' ? 'deviceCopy' : 'overhead';
  recorder.span({ device: device.name, lane, cause, name, start, end: simulation.now, args: {} });
}

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
    const device = chipDevice(cluster.devices.find(({ name }) => name === deviceName) as Device);
    const memory = createSharedMemory(parts.simulation, device.soc.bandwidth);
    chips.set(deviceName, createChip({ ...parts, device, partition, memory, deviceName, kvFormat: workload.kvFormat }));
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
