import { totalSeconds } from '../../cost/breakdown.ts';
import { activationBytes, checkEfficiencies, headSeconds, ROOFLINE_RUNTIME } from '../../cost/roofline.ts';
import { type SplitPredictionOptions, stageSeconds, wayBetween } from '../../cost/split.ts';
import { splitMemory } from '../../cost/split-memory.ts';
import type { Device, ProcessorKind } from '../../hardware/device.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Place, Plan } from '../../plan/plan.ts';
import { NO_WEIGHTS_POLICY } from '../../plan/weights-policy.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { bestChain, splitStages } from './chain.ts';

export interface HelmDevicesOptions extends Omit<SplitPredictionOptions, 'runtime'> {
  /** As in cpuGpuSplit: RAM unless given. */
  readonly kvCache?: Plan['kvCache'];
}

/** How a device divides its layers, and the seconds that takes; infinite where it has no room. */
interface Division {
  readonly gpuLayers: number;
  readonly embedding: ProcessorKind;
  readonly output: ProcessorKind;
  readonly seconds: number;
}

const NOWHERE: Division = { gpuLayers: 0, embedding: 'cpu', output: 'cpu', seconds: Number.POSITIVE_INFINITY };

/**
 * HELM's partition search over the CPUs and GPUs of several devices, which the thesis leaves to future work (7.1): a token
 * visits each device once, in the cluster's order, first its CPU, then its GPU; all weights stay where they are, in RAM or
 * VRAM, and none on disk. The least T_plan by the roofline formulas over all such plans: every division of every number of
 * layers on a device is tried, and the numbers are found by dynamic programming. The head's
 * embedding and output are units of their own: with one device it finds what cpuGpuSplit does, or, where the output is
 * better off the GPU, something faster.
 * @throws InputError for efficiencies outside (0, 1]
 */
export function helmDevices(problem: SchedulingProblem, options: HelmDevicesOptions = {}): Scheduled {
  const { belief, model, workload, runtime = ROOFLINE_RUNTIME } = problem;
  const { kvCache = 'host', ...formulas } = options;
  checkEfficiencies(formulas);
  const message = activationBytes(model, workload, runtime);
  const way = (from: Place, to: Place) => wayBetween(from, to, { cluster: belief, message });
  const devices = belief.devices;

  /** A device's part, from its arrival to its departure; with `ends` the head's, from the embedding on. */
  const divide = (device: Device, layers: number, ends: 'none' | 'leaves' | 'stays'): Division => {
    const cpu: Place = { device: device.name, processor: 'cpu' };
    const gpu: Place = { device: device.name, processor: 'gpu' };
    const sides = device.gpu === undefined || ends === 'none' ? (['cpu'] as const) : (['cpu', 'gpu'] as const);
    let best = NOWHERE;
    for (let gpuLayers = 0; gpuLayers <= (device.gpu === undefined ? 0 : layers); gpuLayers++) {
      const cpuLayers = layers - gpuLayers;
      for (const embedding of sides) {
        for (const output of sides) {
          const held = ends === 'none' ? undefined : embedding;
          const load = { cpuLayers, gpuLayers, kvCache, embedding: held, output: held && output };
          const use = splitMemory(load, { device, model, workload, runtime, paging: formulas.paging });
          if (use.vramBytes > use.vramAvailable || use.ramBytes > use.ramAvailable) continue;
          const visited = [...(cpuLayers > 0 ? [cpu] : []), ...(gpuLayers > 0 ? [gpu] : [])];
          const outputPlace = output === 'gpu' ? gpu : cpu;
          const places = [
            ends === 'none' ? cpu : embedding === 'gpu' ? gpu : cpu,
            ...visited,
            // A token that leaves goes through the RAM, and comes back there.
            ...(ends === 'stays' ? [] : [cpu]),
            ...(ends === 'none' ? [] : [outputPlace]),
          ];
          let seconds = 0;
          for (let i = 1; i < places.length; i++) seconds += way(places[i - 1] as Place, places[i] as Place).deviceCopy;
          for (const { processor } of visited) {
            const blocks = processor === 'cpu' ? cpuLayers : gpuLayers;
            seconds += totalSeconds(
              stageSeconds({ device, model, workload, processor, layers: blocks, blocks }, formulas),
            );
          }
          if (ends !== 'none') {
            const processor = output === 'gpu' && device.gpu ? device.gpu : device.cpu;
            const { compute, memory } = headSeconds({ model, workload, processor }, formulas);
            seconds += compute + memory;
          }
          if (seconds < best.seconds) best = { gpuLayers, embedding, output, seconds };
        }
      }
    }
    return best;
  };

  const head = devices[0] as Device;
  const leaving = Array.from({ length: model.layers }, (_, layers) => divide(head, layers, 'leaves'));
  const staying = divide(head, model.layers, 'stays');
  const others = devices.map((device, index) =>
    Array.from({ length: model.layers + 1 }, (_, layers) =>
      index === 0 || layers === 0 ? NOWHERE : divide(device, layers, 'none'),
    ),
  );
  const place = (index: number): Place => ({ device: devices[index]?.name ?? '', processor: 'cpu' });
  const found = bestChain({
    layers: model.layers,
    devices: devices.length,
    head: (layers) => leaving[layers]?.seconds ?? Number.POSITIVE_INFINITY,
    alone: staying.seconds,
    device: (index, layers) => others[index]?.[layers]?.seconds ?? Number.POSITIVE_INFINITY,
    hop: (from, to) => way(place(from), place(to)).link,
  });
  if (found === undefined) {
    const message = `${model.name} fits nowhere in the memories of ${belief.name}; use a smaller model, a shorter context or more devices`;
    return noPlan('fits-nowhere', message);
  }
  const headLayers = found.layers[0] as number;
  const atHead = headLayers === model.layers ? staying : (leaving[headLayers] as Division);
  const parts = found.layers.map((layers, index) => {
    const division = index === 0 ? atHead : (others[index]?.[layers] as Division);
    return { device: devices[index]?.name ?? '', layers, gpuLayers: layers === 0 ? 0 : division.gpuLayers };
  });
  const plan = createPlan({
    scheduler: 'helm-devices',
    rounds: 1,
    stages: splitStages(parts),
    embedding: { device: head.name, processor: atHead.embedding },
    output: { device: head.name, processor: atHead.output },
    weights: Object.fromEntries(
      parts.filter(({ layers }) => layers > 0).map(({ device }) => [device, NO_WEIGHTS_POLICY]),
    ),
    kvCache,
  });
  return { plan };
}
