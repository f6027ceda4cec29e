import { tmpdir } from 'node:os';
import { PROMPT_TOKENS_BESIDE_DECODING } from '../../engine/batch/request-policy.ts';
import type { PredictedServing } from '../../engine/cost/serving.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { THIS_HOST } from '../../engine/profile/memory/host.ts';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import { withWeightsFile } from '../../engine/profile/probes/weights-file.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes } from '../../engine/profile/processor-probes.ts';
import { loadSequences } from '../../engine/runtime/load-transformer.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { type ServedFigures, servedFigures } from '../../engine/trace/served-requests.ts';
import { type ServingResult, simulateServing } from '../../simulator/serving.ts';
import type { HostSeconds } from '../../simulator/systems/serving.ts';
import { driveEngine } from './drive.ts';
import { probeEngine } from './engine-probe.ts';
import { drawnRequests, type Load, type LoadsAsked, loadsOf, requestsAt } from './loads.ts';
import { type MeasuredPass, measurePasses } from './passes.ts';
import { predictedServing, type Server } from './predicted.ts';

/** A load with its three answers. */
export interface LoadAnswers extends Load {
  readonly requests: number;
  readonly predicted: PredictedServing;
  readonly simulated: ServingResult;
  readonly measured: ServedFigures;
  /** Wall time of the passes over the time that their threads had for themselves. */
  readonly waited: number;
}

export interface ServingToRun extends LoadsAsked {
  readonly file: string;
  readonly threads: number;
  readonly seed: number;
  readonly weightsFile: string;
  /** Seconds of arrivals at each load. */
  readonly seconds: number;
  readonly progress: (steps: number) => Progress;
}

/** What serves: this machine, or a lab ring by where its weights are. */
export const SERVERS = ['this-machine', 'ring-in-memory', 'ring-streamed'] as const;
export type RingKind = Exclude<(typeof SERVERS)[number], 'this-machine'>;

export interface ServingRun {
  /** `undefined`: this machine. */
  readonly ring: RingKind | undefined;
  readonly model: Model;
  readonly loads: readonly LoadAnswers[];
  /** Of this machine. */
  readonly passes: readonly MeasuredPass[];
  readonly host: HostSeconds;
  /** The cluster file by which loads were predicted and simulated. */
  readonly profile: string;
}

const PAGE_TOKENS = 64;
const PAGES = 32;
const CONTEXT = 512;
/** Rounds of probes before the loads; the first doesn't count. */
const ROUNDS = 4;
const NO_DISK = { median: 1e14, spread: 0, repeats: 1 };

/** Probes this machine, measures single passes, then serves every load for real, in simulation and by prediction. */
export async function runServing(asked: ServingToRun): Promise<ServingRun> {
  const { threads, seed } = asked;
  const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  try {
    const pool = { pages: PAGES, pageTokens: PAGE_TOKENS, folder: tmpdir() };
    const sequences = loadSequences(asked.file, { kernels, context: CONTEXT, ...pool });
    const { model, mostTokens } = sequences;
    const fromFile = asked.requests;
    const loads = loadsOf(asked);
    const bar = asked.progress(ROUNDS + 2 + loads.length);
    const { profile, passes } = await withWeightsFile(asked.weightsFile, seed, async () => {
      const weights = kernels.mapFile(asked.weightsFile);
      const used = model.tensors.filter(({ rows }) => rows > 1).map(({ quantization }) => quantization);
      const bench = { kernels, clock, weights, weightBytes: weights.size };
      const probes = createProcessorProbes(bench, [...new Set<Quantization>([...used, 'F16'])], { passes: true });
      const timing = measurePasses(sequences, clock);
      for (let round = 0; round < ROUNDS; round++) {
        bar.step('probes and single passes');
        await probes.round();
        await timing.round();
      }
      const disk = { sequential: NO_DISK, random: NO_DISK, resident: 0 };
      const cpu = probes.measures();
      const name = 'this machine';
      const own = { name, memory: readMemory(THIS_HOST), disk, cache: undefined, cpu, gpu: undefined };
      return { profile: clusterFile({ ...own, instructionSet: kernels.instructionSet }), passes: timing };
    });
    bar.step('the engine without a model');
    const host = await probeEngine(sequences);
    const cluster = createCluster(parseCluster(profile, 'profile'));
    const windows = [{ device: 'this machine', layers: model.layers, gpuLayers: 0 }];
    const plan = ringPlan({ scheduler: 'hand', head: 'this machine', rounds: 1, windows, prefetch: 'none' });
    const limits = {
      ...{ pages: PAGES, pageTokens: PAGE_TOKENS, passTokens: mostTokens },
      ...{ promptTokensBesideDecoding: PROMPT_TOKENS_BESIDE_DECODING, chunk: undefined },
    };
    const server: Server = { cluster, model, plan, limits, host };
    const { capacity } = predictedServing(server, fromFile ?? drawnRequests(seed, 1, 1000), { clients: 1 });
    await driveEngine(sequences, clock, { requests: drawnRequests(seed, capacity, 8), clients: 2 });
    const answers: LoadAnswers[] = [];
    for (const load of loads) {
      bar.step(load.name);
      const requests = fromFile ?? requestsAt(load, { ...asked, capacity });
      const driven = await driveEngine(sequences, clock, { requests, clients: load.clients });
      const last = requests.at(-1)?.arrival ?? 0;
      const demand = load.clients === undefined ? { rate: requests.length / last } : { clients: load.clients };
      answers.push({
        ...load,
        requests: requests.length,
        predicted: predictedServing(server, requests, demand),
        simulated: simulateServing({
          ...{ cluster, model, plan, requests, host, ...limits },
          ...(load.clients !== undefined && { clients: load.clients }),
        }),
        measured: servedFigures(driven.requests),
        waited: driven.wall / driven.own,
      });
    }
    return { ring: undefined, model, loads: answers, passes: passes.measured(server), host, profile };
  } finally {
    kernels.close();
  }
}
