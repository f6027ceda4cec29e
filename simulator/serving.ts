import { MOST_CHUNK_TOKENS } from '../engine/batch/pass-frames.ts';
import { PAGE_TOKENS, PASS_TOKENS, PROMPT_TOKENS_BESIDE_DECODING } from '../engine/batch/request-policy.ts';
import type { StreamedRequest } from '../engine/batch/request-stream.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { chipPartitions } from '../engine/plan/plan.ts';
import { validatePlan } from '../engine/plan/validate-plan.ts';
import { type ServedFigures, servedFigures } from '../engine/trace/served-requests.ts';
import { checkOptions, type SimulationOptions } from './options.ts';
import type { SimulationResult } from './result.ts';
import { openRing } from './systems/ring.ts';
import {
  type HostSeconds,
  type ServedPass,
  type ServerLimits,
  type SimulatedRequest,
  servingSteps,
} from './systems/serving.ts';

/** How a server is simulated. */
export interface ServingOptions
  extends Pick<
    SimulationOptions,
    | 'reclaim'
    | 'runtime'
    | 'memoryTaken'
    | 'noise'
    | 'seed'
    | 'files'
    | 'pins'
    | 'throttle'
    | 'extentBytes'
    | 'chunkBytes'
    | 'warm'
  > {
  /** Pages of keys and values that all requests share; their memory is reserved from the start. */
  readonly pages: number;
  /** Tokens of a page; 64 unless given, as in `hearth serve`. */
  readonly pageTokens?: number;
  /** Most tokens of a pass; 512 unless given, as in `hearth serve`. */
  readonly passTokens?: number;
  /** Most tokens of prompts in a pass in which requests decode; 64 unless given, as in `hearth serve`. */
  readonly promptTokensBesideDecoding?: number;
  /** On a ring, most tokens that go through a window together; 128 unless given, as in `hearth serve`. */
  readonly chunk?: number | undefined;
  /**
   * Closed loop: this many clients, each of which sends its next request when its last has been answered; the requests'
   * arrivals are ignored. By default requests come at their arrivals.
   */
  readonly clients?: number;
  /** Seconds that the server's own program takes in addition to the model; 0 by default. */
  readonly host?: HostSeconds;
}

export interface ServingParts extends ServingOptions {
  readonly cluster: Cluster;
  readonly model: Model;
  /** Plan of kind `ring` or `split`, without operators that are cut. */
  readonly plan: Plan;
  /** In the order of arrival; each fits into the pages alone. */
  readonly requests: readonly StreamedRequest[];
}

export interface ServingResult extends Omit<SimulationResult, 'trace'> {
  /** In the order of arrival; empty if the plan doesn't fit into memory. */
  readonly requests: readonly SimulatedRequest[];
  readonly passes: readonly ServedPass[];
  readonly figures: ServedFigures;
  /** Requests in a pass, on average over its time; pages in use, likewise, as a share of all. */
  readonly meanRunning: number;
  readonly pageOccupancy: number;
  readonly preemptions: number;
  /** Share of the time in which a pass was under way. */
  readonly busy: number;
}

const NO_HOST: HostSeconds = { pass: 0, token: 0 };

/**
 * Replays a stream of requests to a server that runs a plan: the request scheduler of `hearth serve`, page for page and
 * chunk for chunk, in virtual time. A pass goes through the devices' windows with all its texts, on their page caches,
 * disks and links, and takes the seconds that the cost model predicts (`passLayerSeconds`). On a ring it is cut into the
 * frames of `hearth serve`, on which devices work at once; passes follow one another.
 * @throws InputError if the plan doesn't fit the cluster and the model, cuts tensors or operators, or an option or a
 *   request is invalid
 */
export function simulateServing(parts: ServingParts): ServingResult {
  const { cluster, model, plan, requests, pages, host = NO_HOST, clients, warm = false } = parts;
  const limits: ServerLimits = {
    pages,
    pageTokens: parts.pageTokens ?? PAGE_TOKENS,
    passTokens: parts.passTokens ?? PASS_TOKENS,
    promptTokensBesideDecoding: parts.promptTokensBesideDecoding ?? PROMPT_TOKENS_BESIDE_DECODING,
    // One machine takes a pass as a whole.
    chunk: isAlone(plan) ? undefined : (parts.chunk ?? MOST_CHUNK_TOKENS),
  };
  validatePlan(plan, cluster, model);
  checkOptions(parts, cluster);
  checkLimits(limits, clients, host);
  checkRequests(requests, limits);
  if ((plan.kind !== 'ring' && plan.kind !== 'split') || chipPartitions(plan).size > 0)
    throw new InputError(
      'plan: kind',
      `"${plan.kind}" with cut tensors or operators is not served; give a ring or a split`,
    );
  const room = pages * limits.pageTokens;
  const workload = createWorkload({ context: room, batch: 1 });
  const ring = openRing({ ...parts, plan, workload, record: 'tokens' }, room, room);
  if (ring.outOfMemory !== undefined)
    return { ...summary([], []), outOfMemory: ring.outOfMemory, devices: [], seconds: 0 };
  const { vocabularySize } = model;
  const { steps, served } = servingSteps(ring, { requests, clients, limits, host, vocabularySize, warm });
  const { outOfMemory, devices, seconds } = ring.run('server', steps);
  return { ...summary(served.requests, served.passes, pages), outOfMemory, devices, seconds };
}

function isAlone({ stages, output }: Plan): boolean {
  return stages.every(({ device }) => device === output.device);
}

type Summary = Omit<ServingResult, 'outOfMemory' | 'devices' | 'seconds'>;

function summary(requests: readonly SimulatedRequest[], passes: readonly ServedPass[], pages = 1): Summary {
  const first = passes[0]?.start ?? 0;
  const total = (passes.at(-1)?.end ?? 0) - first;
  const busy = passes.reduce((sum, { start, end }) => sum + end - start, 0);
  const over = (value: (pass: ServedPass) => number): number =>
    busy === 0 ? 0 : passes.reduce((sum, pass) => sum + (pass.end - pass.start) * value(pass), 0) / busy;
  return {
    requests,
    passes,
    figures: servedFigures(requests),
    meanRunning: over(({ running }) => running),
    pageOccupancy: over(({ usedPages }) => usedPages) / pages,
    preemptions: requests.reduce((sum, request) => sum + request.preemptions, 0),
    busy: total === 0 ? 0 : busy / total,
  };
}

function checkLimits({ chunk, ...limits }: ServerLimits, clients: number | undefined, host: HostSeconds): void {
  for (const [name, value] of [
    ...Object.entries(limits),
    ...(chunk === undefined ? [] : [['chunk', chunk] as const]),
    ...(clients === undefined ? [] : [['clients', clients] as const]),
  ])
    if (!(Number.isInteger(value) && value >= 1))
      throw new InputError(name, `${value} is not a whole number from 1 on`);
  for (const [name, value] of Object.entries(host))
    if (!(value >= 0 && Number.isFinite(value)))
      throw new InputError(`host.${name}`, `${value} is not seconds, 0 or more`);
}

function checkRequests(requests: readonly StreamedRequest[], { pages, pageTokens }: ServerLimits): void {
  let before = 0;
  for (const [index, { arrival, promptTokens, outputTokens }] of requests.entries()) {
    const where = `requests[${index}]`;
    if (!(arrival >= before && Number.isFinite(arrival)))
      throw new InputError(`${where}.arrival`, `${arrival} is not seconds in ascending order, from 0 on`);
    before = arrival;
    for (const [name, tokens] of Object.entries({ promptTokens, outputTokens }))
      if (!(Number.isInteger(tokens) && tokens >= 1))
        throw new InputError(`${where}.${name}`, `${tokens} is not a whole number from 1 on`);
    const needed = Math.ceil((promptTokens + outputTokens - 1) / pageTokens);
    if (needed > pages)
      throw new InputError(
        where,
        `needs ${needed} pages for ${promptTokens + outputTokens} tokens, and there are ${pages}`,
      );
  }
}
