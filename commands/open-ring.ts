import { MOST_CHUNK_TOKENS } from '../engine/batch/pass-frames.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { InputError } from '../engine/input/input-error.ts';
import { type KernelOptions, openKernels } from '../engine/kernels/open-kernels.ts';
import { checkKvFormat, type KvFormat } from '../engine/model/kv-format.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { describeWeights, readsWeights } from '../engine/ring/device/device-weights.ts';
import { loadPart } from '../engine/ring/device/loaded-part.ts';
import { pageTokensOf } from '../engine/ring/device/memory.ts';
import { RingError } from '../engine/ring/head/errors.ts';
import { type RingHead, startHead } from '../engine/ring/head/head.ts';
import { type RecoveringRing, recoveringRing } from '../engine/ring/head/lost-worker.ts';
import { slowLinks } from '../engine/ring/head/measured-links.ts';
import { layoutOf, planRing, type RingLayout, type RingPlanning } from '../engine/ring/head/planning.ts';
import { activationBytes } from '../engine/ring/wire/activations.ts';
import { deviceProfile } from './device-profile.ts';
import { findRingGpu } from './found-gpu.ts';
import { idleWorkerLines } from './idle-workers.ts';
import type { OutputFile } from './output-file.ts';
import { readAheadLines } from './read-ahead-notice.ts';
import { readRing, readRingPlan, ringPlanning } from './ring-planning.ts';
import type { RingRequest } from './ring-request.ts';

export interface OpenRingOptions extends RingRequest {
  readonly model: string;
  readonly kvCache: KvFormat;
  readonly kernels: KernelOptions;
  /** Tokens that a text can have. */
  readonly context: number;
  /** Texts at the same time. */
  readonly requests: number;
  /** Tokens of a page of keys and values; `undefined`: those of a text, as far as the plan lets them (pageTokensOf). */
  readonly pageTokens: number | undefined;
  /** Whether spans are recorded. */
  readonly trace: boolean;
  readonly saveCluster: OutputFile | undefined;
  readonly log: (line: string) => void;
}

/** A ring whose devices are connected and have loaded the layers of a plan. */
export interface OpenedRing {
  readonly head: RingHead;
  readonly ring: RecoveringRing;
  readonly model: Model;
  readonly planning: RingPlanning;
  /** Tokens of a page of keys and values. */
  readonly pageTokens: number;
  close(): Promise<void>;
}

/**
 * Connects to the devices of a ring, makes or reads a plan, and has it loaded.
 * @throws InputError and RingError for a device that is missing or unfit, and a plan that the ring can't carry out
 */
export async function openRing(options: OpenRingOptions): Promise<OpenedRing> {
  const { context, requests, kvCache, activations, chunk, keys, trace, log } = options;
  const file = readRing(options);
  const gpu = await findRingGpu({ name: options.device, exact: options.kernels.exact }, log);
  const kernels = openKernels(options.kernels);
  const loaded = loadPart(options.model, kernels, MOST_CHUNK_TOKENS, log);
  if (!loaded.held.outer) throw new InputError(options.model, 'has no embedding and output; the head needs them');
  const { model } = loaded.part;
  checkKvFormat(model, kvCache);
  const given = readRingPlan(options, model);
  const pageTokens = options.pageTokens ?? pageTokensOf(given?.plan, context);
  const ending = new AbortController();
  const profile = deviceProfile({
    file: options.profile,
    model: options.model,
    threads: kernels.threads,
    gpu: gpu?.name ?? 'none',
    log,
    signal: ending.signal,
  });
  const head = startHead({
    name: file.head,
    loaded,
    gpu,
    keys,
    members: file.members,
    settings: { context, requests, pageTokens, kvCache, activations, chunk, trace },
    memory: options.memory,
    memoryLimit: options.memoryLimit,
    linkDelay: options.linkDelay,
    log,
  });
  const close = async (): Promise<void> => {
    ending.abort();
    await head.close();
    kernels.close();
  };
  try {
    await head.gather();
    const planning = await ringPlanning({
      request: options,
      given,
      file,
      head,
      model,
      context,
      kvFormat: kvCache,
      profile,
      log,
    });
    const question = { model, workload: createWorkload({ promptTokens: 1, context, kvFormat: kvCache }) };
    const layoutFor = (present: readonly string[]): RingLayout => {
      const plan = planRing(planning, present);
      for (const line of idleWorkerLines(plan, planning, present)) log(line);
      const cluster = planning.scheduling?.cluster ?? file.cluster;
      if (cluster !== undefined) for (const line of readAheadLines({ ...question, cluster }, plan)) log(line);
      return layoutOf(plan, planning);
    };
    const ring = recoveringRing(head, layoutFor, log);
    await ring.ready();
    for (const [device, weights] of head.weights)
      if (readsWeights(weights)) log(`${device}: ${describeWeights(weights)}`);
    // A survey has measured the links of devices without facts.
    if (file.cluster !== undefined || !head.measured)
      await measureLinks(head, file.cluster, activationBytes(model.hiddenSize, activations), log);
    return { head, ring, model, planning, pageTokens, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Measures the links, by which frames are cut, and logs those that are slower than planned. Requests don't need the
 * answer: they go on without a lost device.
 */
async function measureLinks(
  head: RingHead,
  cluster: Cluster | undefined,
  tokenBytes: number,
  log: (line: string) => void,
): Promise<void> {
  try {
    const links = await head.measure();
    for (const line of cluster === undefined ? [] : slowLinks(links, cluster, tokenBytes)) log(line);
  } catch (error) {
    if (!(error instanceof RingError)) throw error;
    log(`links are not measured: ${error.message}`);
  }
}
