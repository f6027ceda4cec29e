import { createRingCosts, type DeviceCosts, type RingCosts } from '../engine/cost/ring-costs.ts';
import { withDevices } from '../engine/hardware/cluster.ts';
import { formatBytes, formatSeconds } from '../engine/input/format.ts';
import { createWorkload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { relaysOf } from '../engine/plan/windows.ts';
import { type RingPlanning, type RingScheduler, sharersOf } from '../engine/ring/head/planning.ts';
import { SCHEDULERS } from '../engine/schedule/registry.ts';

/** The rules of schedulers that don't look for the fastest plan. */
const RULES: { readonly [Name in RingScheduler]?: string } = {
  'memory-ratio': 'gives layers in proportion to free memory',
  'compute-ratio': 'gives layers in proportion to compute',
  exo: 'gives phones none, and others layers in proportion to installed memory',
  'single-device': 'gives the head all layers',
  'cpu-gpu-split': 'gives the head all layers',
};

/**
 * One line for each connected worker that a plan gives neither layers nor experts nor tokens to hand on: why, and what can be done.
 * @param present the connected devices, the head first
 */
export function idleWorkerLines(plan: Plan, planning: RingPlanning, present: readonly string[]): string[] {
  const used = new Set([...devicesOf(plan), ...relaysOf(plan).flatMap(({ via }) => via)]);
  const idle = present.filter((name) => !used.has(name));
  const { plan: given, scheduling } = planning;
  if (given !== undefined && [...used].every((name) => devicesOf(given.plan).has(name)))
    return idle.map((name) => `${name} gets no layer: ${given.file} gives it none; change the plan, or leave it out`);
  if (scheduling === undefined) return [];
  const { scheduler, solver } = scheduling;
  const belief = withDevices(scheduling.cluster, present);
  const workload = createWorkload({ context: planning.context, kvFormat: planning.kvFormat });
  const costs = createRingCosts(belief, planning.model, workload);
  const problem = { belief, model: planning.model, workload, kvCache: 'with-layers' } as const;
  const byMemory = idle.length === 0 ? undefined : SCHEDULERS['memory-ratio'].plan(problem, solver).plan;
  return idle.flatMap((name) => {
    const device = costs.devices.find((one) => one.name === name);
    if (device === undefined) return [];
    const other = byMemory !== undefined && devicesOf(byMemory).has(name) ? ', or --scheduler memory-ratio' : '';
    const advice = `${reasonOf(device, { plan, costs, scheduler })}; to use it give a plan (--plan)${other}`;
    return [`${name} gets no layer: ${shortage(device, costs) ?? advice}; or leave it out`];
  });
}

/** The devices that have layers or slices of them, or hold experts. */
function devicesOf(plan: Plan): ReadonlySet<string> {
  return new Set([plan.embedding, ...plan.stages, ...sharersOf(plan)].map(({ device }) => device));
}

/** Advice about a device whose memory holds no layer; `undefined` if it holds one. */
function shortage(idle: DeviceCosts, costs: RingCosts): string | undefined {
  const layer = costs.layerBytes + costs.kvBytes;
  const free = idle.available - idle.ramBuffers;
  if (free >= layer || idle.gpuRoom >= layer) return undefined;
  const [has, needs] = [Math.max(0, free), layer].map(formatBytes);
  return `after buffers it has ${has} of memory left, and a layer with its KV cache takes ${needs}; to use it free memory there, or give a shorter context (--context)`;
}

interface IdleCase {
  readonly plan: Plan;
  readonly costs: RingCosts;
  readonly scheduler: RingScheduler;
}

/** Why a device whose memory holds a layer has none: the scheduler's rule, or a token would take longer. */
function reasonOf(idle: DeviceCosts, { plan, costs, scheduler }: IdleCase): string {
  const rule = RULES[scheduler];
  if (rule !== undefined) return `${scheduler} ${rule}, and of ${costs.layers} layers it gets none`;
  const index = (name: string): number => costs.devices.findIndex((one) => one.name === name);
  const secondsOf = (name: string, processor: 'cpu' | 'gpu'): number => {
    const device = costs.devices[index(name)];
    return (processor === 'gpu' ? device?.gpuLayer : device?.cpuLayer) ?? Number.POSITIVE_INFINITY;
  };
  const own = Math.min(idle.cpuLayer, idle.gpuLayer);
  const placed = plan.stages.map(({ device, processor }) => ({ device, seconds: secondsOf(device, processor) }));
  const slowest = placed.reduce((most, one) => (one.seconds > most.seconds ? one : most));
  const [head, there] = [index(plan.embedding.device), index(idle.name)];
  const hops = costs.hop(head, there) + costs.hop(there, head);
  return `${scheduler} finds no faster plan with it: a layer takes ${formatSeconds(own)} there and ${formatSeconds(slowest.seconds)} on ${slowest.device}, and two hops add ${formatSeconds(hops)} to a token`;
}
