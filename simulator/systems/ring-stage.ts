import type { LayerSeconds } from '../../engine/cost/layer-seconds.ts';
import type { DeviceCosts } from '../../engine/cost/ring-costs.ts';
import { type Gpu, type ProcessorKind, transferSeconds } from '../../engine/hardware/device.ts';
import type { Stage } from '../../engine/plan/plan.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold, holdUntil } from '../event-loop/hold.ts';
import { mayJoinLayers, pageFaults } from '../hardware/page-faults.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import type { Chip, ChipSteps } from './chip.ts';
import { computingSeconds, finishComputation, startComputation } from './compute.ts';
import { streamStage } from './layer-streaming.ts';
import { pagedStage } from './paged-stage.ts';
import { runChipOutput, runChipStage } from './ring-chip.ts';
import type { RingDevice } from './ring-device.ts';
import { activationBytes, type Pass, type RingParts } from './ring-pass.ts';

/** Runs a stage layer by layer: a layer's weights arrive, then it is computed. */
export function* runStage(parts: RingParts, pass: Pass, device: RingDevice, stage: Stage): Steps {
  const { processor, from, to, streamed } = stage;
  if (stage.partition !== undefined) {
    const { layer } = pass.chipSteps.get(device.name) as ChipSteps;
    yield* runChipStage(parts.chips.get(device.name) as Chip, device, stage, layer);
    return;
  }
  const seconds = pass.layer(device, processor);
  if (streamed !== undefined) {
    const { layerCopy } = pass.costs.devices[device.index] as DeviceCosts;
    const sizes = { layerBytes: parts.model.layer.bytes, copySeconds: layerCopy };
    const run = (layer: number): Steps => runLayer(parts, device, processor, seconds, layer);
    yield* streamStage({ ...parts, ...sizes, device: device.name, streamed, from, to, compute: run });
    return;
  }
  if (processor === 'gpu' && device.paged !== undefined && device.paged.evicted > 0 && pass.phase === 'decode') {
    const gpu = parts.cluster.devices[device.index]?.gpu as Gpu;
    yield* pagedStage({ ...parts, device: device.name, paged: device.paged, gpu, seconds, from, to });
    return;
  }
  if (!parts.recorder.wantsSpans && device.observe === undefined) yield* runUnobserved(parts, device, stage, seconds);
  else for (let layer = from; layer < to; layer++) yield* runLayer(parts, device, processor, seconds, layer);
}

/**
 * A stage whose layers nobody records or observes: the same times with fewer steps. If no layer has to wait for its
 * weights, the clock moves to the end of the last layer at once.
 */
function* runUnobserved(parts: RingParts, device: RingDevice, stage: Stage, seconds: LayerSeconds): Steps {
  const { name, reader, weights } = device;
  const { from, to, processor } = stage;
  const range = weights.stage(stage);
  const work = { device: name, lane: processor, seconds };
  if (range !== undefined && parts.joinsLayers && mayJoinLayers(reader)) {
    let sum = 0;
    for (let layer = from; layer < to; layer++) sum += computingSeconds(parts, work);
    yield* finish(parts, yield* pageFaults(reader, { range, seconds: sum, layers: to - from }));
    return;
  }
  let end = parts.simulation.now;
  for (let layer = from; layer < to; layer++) {
    const total = computingSeconds(parts, work);
    const own = weights.layer(layer);
    if (own === undefined) end += total;
    else yield* finish(parts, yield* pageFaults(reader, { range: own, seconds: total }));
  }
  if (end > parts.simulation.now) yield holdUntil(end);
}

/** Computes for the seconds that are left. If nothing else is due at this instant, a hold of 0 s is skipped. */
function* finish({ simulation }: RingParts, seconds: number): Steps {
  if (seconds > 0 || !simulation.isQuiet) yield hold(seconds);
}

function* runLayer(
  parts: RingParts,
  device: RingDevice,
  processor: ProcessorKind,
  seconds: LayerSeconds,
  layer: number,
): Steps {
  const computation = startComputation(parts, {
    device: device.name,
    lane: processor,
    seconds,
    name: `layer ${layer}`,
  });
  const range = device.weights.layer(layer);
  const left = yield* weightsOf(device, range, computation.total);
  device.observe?.('layer', layer);
  yield* finishComputation(parts, computation, left);
  device.observe?.('computed', layer);
}

/** The output layer, on the head. */
export function* runOutput(parts: RingParts, pass: Pass, head: RingDevice): Steps {
  const { processor, partition } = parts.plan.output;
  if (partition !== undefined) {
    const { output } = pass.chipSteps.get(head.name) as ChipSteps;
    yield* runChipOutput(parts.chips.get(head.name) as Chip, head, output);
    return;
  }
  const costs = pass.costs.devices[head.index] as DeviceCosts;
  const seconds = processor === 'gpu' ? costs.outputOnGpu : costs.outputOnCpu;
  if (seconds === undefined) return;
  const computation = startComputation(parts, { device: head.name, lane: processor, seconds, name: 'output layer' });
  const left = yield* weightsOf(head, head.weights.output, computation.total);
  yield* finishComputation(parts, computation, left);
}

/** Waits for mapped weights, if any. @returns the seconds of the computation that are left then */
function* weightsOf({ reader }: RingDevice, range: ByteRange | undefined, seconds: number): Steps<number> {
  return range === undefined ? seconds : yield* pageFaults(reader, { range, seconds });
}

/** Activations travel to a GPU with memory of its own, and back. */
export function* copyActivations(parts: RingParts, pass: Pass, device: RingDevice): Steps {
  const { cluster, recorder, simulation } = parts;
  const gpu = cluster.devices[device.index]?.gpu;
  if (gpu?.api !== 'cuda') return;
  const bytes = activationBytes(parts, pass);
  const start = simulation.now;
  yield hold(2 * transferSeconds(gpu.hostLink, bytes));
  if (!recorder.wantsSpans) return;
  const span = { device: device.name, lane: 'gpu', cause: 'deviceCopy', name: 'to and from the GPU' } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes: 2 * bytes } });
}
