import type { Cluster } from '../hardware/cluster.ts';
import { isDiscrete } from '../hardware/device.ts';
import { InputError, suggestion } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import {
  type OutputPlace,
  type Place,
  type Plan,
  planShares,
  type RingPlan,
  type Stage,
  type TensorParallelPlan,
} from './plan.ts';
import { validatePartition } from './validate-partition.ts';

/**
 * Checks a plan against model and cluster: devices and processors exist; every layer runs exactly once, in order;
 * embedding and output are on one device; `rounds` agrees with the stages; cuts, streaming and relays are consistent.
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
  if (plan.kind === 'ring') checkRelays(plan, names, `${where}: relays`);
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

function checkRelays({ relays = [], stages, embedding }: RingPlan, names: readonly string[], where: string): void {
  for (const [index, relay] of relays.entries()) {
    if (!names.includes(relay)) throw new InputError(where, `names "${relay}"${suggestion(relay, names)}`);
    if (relays.indexOf(relay) !== index) throw new InputError(where, `"${relay}" occurs twice; remove one`);
    if (relay === embedding.device || stages.some(({ device }) => device === relay)) {
      throw new InputError(where, `"${relay}" has work of its own; a relay holds no layers and isn't the head`);
    }
  }
}

/** Sums of shares such as ten times 0.1 are off by a few units in the last place. */
const TOLERANCE = 1e-9;

/**
 * Checks a plan that cuts tensors: they are cut among CPUs; each device occurs once, the root among them; shares add up
 * to 1; and the plan has no property that tensor parallelism doesn't use.
 * @throws InputError that says which part is wrong and what it should be
 */
function validateCut(plan: TensorParallelPlan, where: string): void {
  const { cut, device, processor } = plan.stages[0];
  const fail = (part: string, problem: string): never => {
    throw new InputError(`${where}: ${part}`, problem);
  };
  const place = 'stages[0]';
  if (processor !== 'cpu') fail(`${place}.processor`, 'is "gpu"; tensors are cut among CPUs: use "cpu"');
  for (const [other, { share }] of cut.entries()) {
    if (!(share > 0))
      fail(`${place}.cut[${other}].share`, `is ${share}; give a share above 0, or leave the device out`);
  }
  const devices = cut.map((part) => part.device);
  const twice = devices.find((name, other) => devices.indexOf(name) !== other);
  if (twice !== undefined) fail(`${place}.cut`, `"${twice}" occurs twice; give it one share`);
  if (!devices.includes(device)) fail(`${place}.cut`, `lacks the stage's own device "${device}"; give it a share`);
  const sum = cut.reduce((total, { share }) => total + share, 0);
  if (Math.abs(sum - 1) > TOLERANCE) fail(`${place}.cut`, `shares add up to ${sum}, not 1`);
  if (device !== plan.embedding.device) {
    fail(`${place}.device`, `is "${device}"; the head "${plan.embedding.device}" is the root of a cut`);
  }
  if (plan.output.processor !== 'cpu') fail('output.processor', 'is "gpu"; beside cut tensors use "cpu"');
  if (plan.kvCache !== 'with-layers')
    fail('kvCache', 'is "host"; the KV cache is cut with its layers: use "with-layers"');
  if (Object.keys(plan.weights).length > 0) fail('weights', 'cut tensors stay in memory; remove all policies');
}
