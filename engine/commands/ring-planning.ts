import { writeFileSync } from 'node:fs';
import type { Cluster } from '../hardware/cluster.ts';
import { parseCluster } from '../hardware/parse-cluster.ts';
import type { RingHead } from '../ring/head/head.ts';
import { measuredCluster } from '../ring/head/measured-links.ts';
import type { RingPlanning } from '../ring/head/planning.ts';
import type { RingFile } from '../ring/head/ring-file.ts';
import { loadIntegerSolver } from '../schedule/integer-solver.ts';
import type { RunRequest } from './run-options.ts';
import { readPlan } from './split.ts';

/** For one integer program of a scheduler. */
const SOLVER_SECONDS = 10;

export interface RingPlanningParts {
  readonly request: RunRequest;
  readonly file: RingFile;
  /** All its members are there. */
  readonly head: RingHead;
  readonly model: RingPlanning['model'];
  readonly context: number;
  /** This device as in a cluster file, JSON. */
  readonly profile: () => Promise<string>;
  readonly log: (line: string) => void;
}

/**
 * What plans are made from. Where no plan is given, or a scheduler is, and the cluster file has no facts, devices say
 * what they are, and links are measured.
 * @throws InputError for a plan that can't be read, and for a device that can't say what it is
 */
export async function ringPlanning(parts: RingPlanningParts): Promise<RingPlanning> {
  const { request, file, model, context } = parts;
  const { plan, scheduler, requested } = request;
  const named = scheduler ?? (plan === undefined ? 'optimal' : undefined);
  const given = plan === undefined ? undefined : { file: plan, plan: readPlan(plan) };
  const unknown = file.cluster === undefined && named !== undefined;
  const cluster = unknown || request.saveCluster !== undefined ? await measure(parts) : file.cluster;
  const scheduling =
    cluster === undefined || named === undefined
      ? undefined
      : { cluster, scheduler: named, solver: await loadIntegerSolver(SOLVER_SECONDS) };
  return {
    devices: [file.head, ...file.members.map(({ name }) => name)],
    model,
    context,
    requested,
    plan: given,
    scheduling,
  };
}

/** Profiles and links; the links are measured by a ring without layers. */
async function measure({ request, file, head, profile, log }: RingPlanningParts): Promise<Cluster> {
  log('asks all devices what they are; one without a profile measures itself, which takes up to a minute');
  const names = file.members.map(({ name }) => name);
  const [own, members] = await Promise.all([profile(), head.profiles()]);
  await head.assemble({ windows: names.map((device) => ({ device, from: 0, to: 0 })), weights: {} });
  const facts = [{ device: file.head, facts: own, memory: request.memory }, ...members];
  const text = measuredCluster(facts, await head.measure(), file.members);
  if (request.saveCluster !== undefined) writeFileSync(request.saveCluster, text);
  return parseCluster(text, 'what the devices say of themselves');
}
