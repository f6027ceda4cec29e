import { type Cluster, reaches } from '../hardware/cluster.ts';
import { isDiscrete } from '../hardware/device.ts';
import { InputError, suggestion } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import { type OutputPlace, type Place, type Plan, planShares, type RingPlan, type Stage } from './plan.ts';
import { validateCpuExperts } from './validate-cpu-experts.ts';
import { validateCut } from './validate-cut.ts';
import { validateExperts } from './validate-experts.ts';
import { validateHolders } from './validate-holders.ts';
import { validatePartition } from './validate-partition.ts';
import { hopsOf, relaysOf, stopsBetween } from './windows.ts';

/**
 * Checks a plan against model and cluster: devices and processors exist; every layer runs exactly once, in order;
 * embedding and output are on one device; `rounds` agrees with the stages; cuts, holders of experts, streaming, relays
 * and experts on another processor than their layer are consistent.
 * @param where the plan's origin, for messages
 * @throws InputError that says which part is wrong and what it should be
 */
export function validatePlan(plan: Plan, cluster: Cluster, model: Shape, where = 'plan'): void {
  const names = cluster.devices.map((device) => device.name);
  const checkPlace = ({ device, processor }: Place, place: string): void => {
    const found = cluster.devices.find((candidate) => candidate.name === device);
    if (found === undefined) {
      throw new InputError(
        `${where}: ${place}.device`,
        `cluster ${cluster.name} has no "${device}"${suggestion(device, names)}`,
      );
    }
    if (processor === 'gpu' && found.gpu === undefined) {
      throw new InputError(`${where}: ${place}.processor`, `"${device}" has no GPU; use "cpu"`);
    }
  };
  if (!Number.isInteger(plan.rounds) || plan.rounds < 1 || plan.rounds > model.layers) {
    throw new InputError(
      `${where}: rounds`,
      `${plan.rounds} is not a whole number between 1 and the ${model.layers} layers`,
    );
  }
  let next = 0;
  plan.stages.forEach((stage, index) => {
    const place = `stages[${index}]`;
    checkPlace(stage, place);
    checkStreaming(stage, cluster, `${where}: ${place}`);
    validateCpuExperts(plan, index, model, `${where}: ${place}`);
    if (stage.from !== next) {
      const problem =
        stage.from > next ? `layers ${next} to ${stage.from - 1} run nowhere` : `layer ${stage.from} runs twice`;
      throw new InputError(`${where}: ${place}.from`, `is ${stage.from} where ${next} is next; ${problem}`);
    }
    if (!Number.isInteger(stage.to) || stage.to <= stage.from) {
      throw new InputError(`${where}: ${place}.to`, `${stage.to} is not a whole number above from (${stage.from})`);
    }
    next = stage.to;
  });
  if (next !== model.layers) {
    throw new InputError(`${where}: stages`, `hold ${next} layers; ${model.name} has ${model.layers}`);
  }
  checkPlace(plan.embedding, 'embedding');
  checkPlace(plan.output, 'output');
  checkStreaming(plan.output, cluster, `${where}: output`);
  if (plan.embedding.device !== plan.output.device) {
    throw new InputError(
      `${where}: output.device`,
      `is "${plan.output.device}"; the head "${plan.embedding.device}" embeds and outputs`,
    );
  }
  if (plan.kind === 'tensor-parallel') {
    for (const [part, { device }] of plan.stages[0].cut.entries())
      checkPlace({ device, processor: 'cpu' }, `stages[0].cut[${part}]`);
    validateCut(plan, where);
  }
  if (plan.kind === 'expert-parallel') {
    for (const [index, { device }] of plan.holders.entries())
      checkPlace({ device, processor: 'cpu' }, `holders[${index}]`);
    validateHolders(plan, model, where);
  }
  validatePartition(plan, cluster, model, where);
  const visits = Math.max(...planShares(plan).map((share) => share.windows));
  if (visits !== plan.rounds) {
    throw new InputError(
      `${where}: rounds`,
      `is ${plan.rounds}, but a device is visited ${visits === 1 ? 'once' : `${visits} times`}; make them agree`,
    );
  }
  for (const device of Object.keys(plan.weights)) {
    if (!names.includes(device))
      throw new InputError(`${where}: weights`, `names "${device}"${suggestion(device, names)}`);
  }
  validateExperts(plan, model, where);
  if (plan.kind === 'ring') checkRelays(plan, names, `${where}: relays`);
  checkWays(plan, cluster, where);
}

/** Pairs of devices that send to each other under a plan. */
function waysOf(plan: Plan): readonly (readonly [from: string, to: string])[] {
  if (plan.kind === 'expert-parallel')
    return plan.holders.map(({ device }) => [plan.embedding.device, device] as const).filter(([a, b]) => a !== b);
  if (plan.kind !== 'tensor-parallel') return hopsOf(plan);
  const { cut } = plan.stages[0];
  return cut.flatMap((one, at) => cut.slice(at + 1).map((other) => [one.device, other.device] as const));
}

function checkStreaming(
  { device, processor, streamed }: Stage | OutputPlace,
  { devices }: Cluster,
  where: string,
): void {
  if (streamed === undefined) return;
  const gpu = devices.find(({ name }) => name === device)?.gpu;
  if (processor === 'gpu' && isDiscrete(gpu)) return;
  const found = processor === 'cpu' ? 'matrices on a CPU' : `matrices on the ${gpu?.api} GPU of "${device}"`;
  throw new InputError(`${where}.streamed`, `${found} find their weights in RAM; stream to a cuda GPU, or remove it`);
}

function checkRelays(plan: RingPlan, names: readonly string[], where: string): void {
  const hops = hopsOf(plan);
  for (const [index, { from, to, via }] of (plan.relays ?? []).entries()) {
    const place = `${where}[${index}]`;
    const unknown = [from, to, ...via].find((name) => !names.includes(name));
    if (unknown !== undefined) throw new InputError(place, `names "${unknown}"${suggestion(unknown, names)}`);
    if (!hops.some((hop) => hop[0] === from && hop[1] === to))
      throw new InputError(place, `no token goes from "${from}" to "${to}" under this plan; remove it`);
    if (plan.relays?.findIndex((one) => one.from === from && one.to === to) !== index)
      throw new InputError(place, `the way from "${from}" to "${to}" occurs twice; remove one`);
    const stops = [from, ...via, to];
    const twice = stops.find((name, at) => stops.indexOf(name) !== at);
    if (twice !== undefined) throw new InputError(place, `passes "${twice}" twice; remove one`);
    if (via.length === 0) throw new InputError(`${place}.via`, 'is empty; name the devices that hand tokens on');
  }
}

/** @throws InputError if a token has to go from a device to another that it doesn't reach */
function checkWays(plan: Plan, cluster: Cluster, where: string): void {
  if (cluster.links.unreachable === undefined) return;
  for (const [from, to] of waysOf(plan)) {
    let at = from;
    for (const stop of stopsBetween(relaysOf(plan), from, to)) {
      if (!reaches(cluster, at, stop)) {
        const way = `{"from": "${from}", "to": "${to}", "via": ["…"]}`;
        throw new InputError(`${where}: relays`, `"${at}" and "${stop}" don’t reach each other; add ${way}`);
      }
      at = stop;
    }
  }
}
