import { totalSeconds } from '../../cost/breakdown.ts';
import { activationBytes, checkEfficiencies, headSeconds, ROOFLINE_RUNTIME } from '../../cost/roofline.ts';
import type { Runtime } from '../../cost/runtime.ts';
import { type SplitPredictionOptions, stageSeconds, wayBetween } from '../../cost/split.ts';
import { splitMemory } from '../../cost/split-memory.ts';
import type { Cluster } from '../../hardware/cluster.ts';
import type { Device, ProcessorKind } from '../../hardware/device.ts';
import type { Model } from '../../model/model.ts';
import type { Workload } from '../../model/workload.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Place, Plan } from '../../plan/plan.ts';
import { NO_WEIGHTS_POLICY } from '../../plan/weights-policy.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { bestChain, splitStages } from './chain.ts';

export interface HelmDevicesOptions extends Omit<SplitPredictionOptions, 'runtime'> {
  /** Place of KV caches, as in cpuGpuSplit; as the problem says, or `host`, unless given. */
  readonly kvCache?: Plan['kvCache'];
}

/** How a device divides its layers, and the seconds that this takes; infinite where memory is too small. */
interface Division {
  readonly gpuLayers: number;
  readonly embedding: ProcessorKind;
  readonly output: ProcessorKind;
  readonly seconds: number;
}

const NOWHERE: Division = { gpuLayers: 0, embedding: 'cpu', output: 'cpu', seconds: Number.POSITIVE_INFINITY };

/**
 * HELM's partition search over the CPUs and GPUs of several devices, which the thesis leaves to future work (7.1). A
 * token visits each device once, in the cluster's order, first its CPU, then its GPU; all weights stay in RAM or VRAM,
 * and none are on disk. The plan has the least T_plan by the roofline formulas: every division of every number of
 * layers on a device is tried, and dynamic programming finds the numbers (bestChain). The head's embedding and output
 * are units of their own: with one device the plan is that of cpuGpuSplit or, where the output is better off the GPU, a
 * faster one.
 * @throws InputError for efficiencies outside (0, 1]
 */
export function helmDevices(problem: SchedulingProblem, options: HelmDevicesOptions = {}): Scheduled {
  const { belief, model, workload, runtime = ROOFLINE_RUNTIME } = problem;
  const { kvCache = problem.kvCache ?? 'host', ...formulas } = options;
  checkEfficiencies(formulas);
  const message = activationBytes(model, workload, runtime);
  const task: DivisionTask = { cluster: belief, model, workload, runtime, kvCache, formulas, message };
  const { devices } = belief;
  const head = devices[0] as Device;
  const leaving = Array.from({ length: model.layers }, (_, layers) => divide(task, head, layers, 'leaves'));
  const staying = divide(task, head, model.layers, 'stays');
  const others = devices.map((device, index) =>
    Array.from({ length: model.layers + 1 }, (_, layers) =>
      index === 0 || layers === 0 ? NOWHERE : divide(task, device, layers, 'none'),
    ),
  );
  const place = (index: number): Place => ({ device: devices[index]?.name ?? '', processor: 'cpu' });
  const found = bestChain({
    layers: model.layers,
    devices: devices.length,
    head: (layers) => leaving[layers]?.seconds ?? Number.POSITIVE_INFINITY,
    alone: staying.seconds,
    device: (index, layers) => others[index]?.[layers]?.seconds ?? Number.POSITIVE_INFINITY,
    hop: (from, to) => wayBetween(place(from), place(to), { cluster: belief, message }).link,
  });
  if (found === undefined) {
    const problem = `${model.name} fits nowhere in the memories of ${belief.name}; use a smaller model, a shorter context or more devices`;
    return noPlan('fits-nowhere', problem);
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

/** Task for which divisions are made. */
interface DivisionTask {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly kvCache: Plan['kvCache'];
  readonly formulas: Omit<SplitPredictionOptions, 'runtime'>;
  /** Bytes of the activations that pass between processors. */
  readonly message: number;
}

/** The ends of the model that a device runs: `none`, or embedding and output, between which a token leaves it or stays. */
type Ends = 'none' | 'leaves' | 'stays';

/** The best division of this many layers, from the token's arrival at the device, or its embedding, to the end there. */
function divide(task: DivisionTask, device: Device, layers: number, ends: Ends): Division {
  const sides = device.gpu === undefined || ends === 'none' ? (['cpu'] as const) : (['cpu', 'gpu'] as const);
  let best = NOWHERE;
  for (let gpuLayers = 0; gpuLayers <= (device.gpu === undefined ? 0 : layers); gpuLayers++) {
    for (const embedding of sides) {
      for (const output of sides) {
        const division = { cpuLayers: layers - gpuLayers, gpuLayers, embedding, output, ends };
        if (!fits(task, device, division)) continue;
        const seconds = divisionSeconds(task, device, division);
        if (seconds < best.seconds) best = { gpuLayers, embedding, output, seconds };
      }
    }
  }
  return best;
}

interface Candidate extends Omit<Division, 'seconds'> {
  readonly cpuLayers: number;
  readonly ends: Ends;
}

function fits(
  { model, workload, runtime, kvCache, formulas: { paging } }: DivisionTask,
  device: Device,
  { cpuLayers, gpuLayers, embedding, output, ends }: Candidate,
): boolean {
  const holdsEnds = ends !== 'none';
  const load = {
    cpuLayers,
    gpuLayers,
    kvCache,
    embedding: holdsEnds ? embedding : undefined,
    output: holdsEnds ? output : undefined,
  };
  const use = splitMemory(load, { device, model, workload, runtime, paging });
  return use.vramBytes <= use.vramAvailable && use.ramBytes <= use.ramAvailable;
}

/** Seconds of the copies between processors, of the blocks, and of the output layer. */
function divisionSeconds(
  { cluster, model, workload, formulas, message }: DivisionTask,
  device: Device,
  { cpuLayers, gpuLayers, embedding, output, ends }: Candidate,
): number {
  const cpu: Place = { device: device.name, processor: 'cpu' };
  const gpu: Place = { device: device.name, processor: 'gpu' };
  const visited = [...(cpuLayers > 0 ? [cpu] : []), ...(gpuLayers > 0 ? [gpu] : [])];
  const places = [
    ends !== 'none' && embedding === 'gpu' ? gpu : cpu,
    ...visited,
    // A token leaves and returns by the RAM.
    ...(ends === 'stays' ? [] : [cpu]),
    ...(ends === 'none' ? [] : [output === 'gpu' ? gpu : cpu]),
  ];
  let seconds = 0;
  for (let i = 1; i < places.length; i++) {
    seconds += wayBetween(places[i - 1] as Place, places[i] as Place, { cluster, message }).deviceCopy;
  }
  for (const { processor } of visited) {
    const blocks = processor === 'cpu' ? cpuLayers : gpuLayers;
    seconds += totalSeconds(stageSeconds({ device, model, workload, processor, layers: blocks, blocks }, formulas));
  }
  if (ends !== 'none') {
    const processor = output === 'gpu' && device.gpu ? device.gpu : device.cpu;
    const { compute, memory } = headSeconds({ model, workload, processor }, formulas);
    seconds += compute + memory;
  }
  return seconds;
}
