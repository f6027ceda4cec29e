import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { MOST_DEPTH } from '../engine/experts/experts-policy.ts';
import { type Cluster, withoutGpus } from '../engine/hardware/cluster.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { KvFormat } from '../engine/model/kv-format.ts';
import type { Model } from '../engine/model/model.ts';
import type { Place } from '../engine/plan/plan.ts';
import { validateExperts } from '../engine/plan/validate-experts.ts';
import type { RingHead } from '../engine/ring/head/head.ts';
import { surveyLinks } from '../engine/ring/head/link-survey.ts';
import { measuredCluster } from '../engine/ring/head/measured-links.ts';
import type { RingPlanning } from '../engine/ring/head/planning.ts';
import { parseRing, type RingFile } from '../engine/ring/head/ring-file.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { leftOutLine } from '../engine/schedule/with-relays.ts';
import { type OutputFile, writeOutputFile } from './output-file.ts';
import type { RingRequest } from './ring-request.ts';
import { readPlan } from './split.ts';

/** Reads the devices of a ring: those of the cluster file, or this one and the workers of `--worker`. @throws InputError */
export function readRing({ cluster, workers, keys }: Pick<RingRequest, 'cluster' | 'workers' | 'keys'>): RingFile {
  if (cluster === undefined) return parseRing(ringText(workers), '--worker', keys === undefined);
  let text = '';
  try {
    text = readFileSync(cluster, 'utf8');
  } catch {
    throw new InputError(cluster, 'can’t be read; give the path of a cluster file');
  }
  return parseRing(text, cluster, keys === undefined);
}

/** A worker's name is its address without the slashes, since `hearth split` names files after devices. */
function ringText(workers: readonly string[]): string {
  const addresses = workers.map((text) => text.split(',')[0] as string);
  const twice = addresses.find((address, index) => addresses.indexOf(address) !== index);
  if (twice !== undefined) throw new InputError('--worker', `${twice} is given twice; give each worker once`);
  const devices = workers.map((text) => {
    const [address = '', publicKey] = text.split(',');
    return { name: address.replace(/^tcp:\/\//, ''), address, ...(publicKey === undefined ? {} : { publicKey }) };
  });
  return JSON.stringify({ devices: [{ name: hostname() }, ...devices] });
}

/** Time limit of one integer program, in seconds. */
const SOLVER_SECONDS = 10;

export interface RingPlanningParts {
  readonly request: RingRequest & { readonly saveCluster: OutputFile | undefined };
  /** The plan of `--plan` (readRingPlan). */
  readonly given: RingPlanning['plan'];
  readonly file: RingFile;
  /** All its members must be connected. */
  readonly head: RingHead;
  readonly model: RingPlanning['model'];
  readonly context: number;
  readonly kvFormat: KvFormat;
  /** This device as in a cluster file, JSON. */
  readonly profile: (fresh: boolean) => Promise<string>;
  readonly log: (line: string) => void;
}

/**
 * Collects the inputs of planning. If a plan has to be made and the cluster file has no hardware facts, the devices
 * describe themselves and the links are measured.
 * @throws InputError for a device that can't describe itself
 */
export async function ringPlanning(parts: RingPlanningParts): Promise<RingPlanning> {
  const { request, given, file, head, model, context, kvFormat, log } = parts;
  const { scheduler, requested, maxPressure } = request;
  const named = scheduler ?? (given === undefined ? 'optimal' : undefined);
  const unknown = file.cluster === undefined && named !== undefined;
  const cluster = unknown || request.saveCluster !== undefined ? await measure(parts) : file.cluster;
  const usable = cluster && withUsableGpus(cluster, head.gpus(), named === undefined ? () => {} : log);
  const leftOut = usable && named && leftOutLine(usable);
  if (leftOut) log(leftOut);
  const scheduling =
    usable === undefined || named === undefined
      ? undefined
      : { cluster: usable, scheduler: named, solver: await loadIntegerSolver(SOLVER_SECONDS) };
  return {
    devices: [file.head, ...file.members.map(({ name }) => name)],
    model,
    context,
    kvFormat,
    requested,
    maxPressure,
    plan: given,
    scheduling,
  };
}

/**
 * Reads the plan of `--plan`, if one is given, before any device is reached.
 * @throws InputError for a plan that can't be read, and for experts that the devices of a ring don't cache so
 */
export function readRingPlan(
  { plan: file, requested }: Pick<RingRequest, 'plan' | 'requested'>,
  model: Model,
): RingPlanning['plan'] {
  if (file === undefined) return undefined;
  const plan = readPlan(file);
  for (const [device, { experts }] of Object.entries(plan.weights)) {
    if (experts === undefined) continue;
    const fail = (part: string, problem: string): never => {
      throw new InputError(`${file}: weights.${device}.experts${part}`, problem);
    };
    const isOnGpu = (place: Place): boolean => place.device === device && place.processor === 'gpu';
    if ([plan.embedding, plan.output, ...plan.stages].some(isOnGpu))
      fail('', 'is for a device whose GPU has layers or the output; move them to its CPU, or remove "experts"');
    if (experts.layout !== 'file')
      fail('.layout', `is "${experts.layout}", which is read on one machine alone (--packed-experts); use "file"`);
    if (experts.depth > MOST_DEPTH)
      fail('.depth', `is ${experts.depth}; at most ${MOST_DEPTH} reads are under way at once`);
    const option = requested.prefetch !== undefined ? '--prefetch' : requested.release !== undefined && '--release';
    if (option) throw new InputError(option, `is not for devices that cache experts, as ${device} does; leave it out`);
  }
  validateExperts(plan, model, file);
  return { file, plan };
}

/** The cluster without the GPUs that its devices don't use here. */
function withUsableGpus(cluster: Cluster, gpus: ReadonlyMap<string, string>, log: (line: string) => void): Cluster {
  const absent = cluster.devices.filter(({ name, gpu }) => gpu !== undefined && !gpus.has(name));
  if (absent.length === 0) return cluster;
  const names = absent.map(({ name }) => name);
  const whose = `the ${names.length === 1 ? 'GPU' : 'GPUs'} of ${names.join(', ')}`;
  log(`plans without ${whose}: no GPU is used there; start it with --device, as hearth inspect --devices names it`);
  return withoutGpus(cluster, (device) => names.includes(device));
}

/** The cluster as described by its devices, with links measured by a ring without layers. */
async function measure({ request, file, head, profile, log }: RingPlanningParts): Promise<Cluster> {
  log('asking all devices for their profiles; a device that has none measures itself, which takes up to a minute');
  const names = file.members.map(({ name }) => name);
  const [own, members] = await Promise.all([profile(request.measure), head.profiles(request.measure)]);
  const { order, links, unreachable } = await surveyLinks(head, { own: file.head, workers: names }, log);
  const inOrder = members.toSorted((a, b) => order.indexOf(a.device) - order.indexOf(b.device));
  const facts = [{ device: file.head, facts: own, memory: request.memory }, ...inOrder];
  const text = measuredCluster(facts, links, { addresses: file.members, unreachable });
  if (request.saveCluster !== undefined) writeOutputFile(request.saveCluster, text);
  return parseCluster(text, 'descriptions by the devices');
}
