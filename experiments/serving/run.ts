import { tmpdir } from 'node:os';
import { PROMPT_TOKENS_BESIDE_DECODING } from '../../engine/batch/request-policy.ts';
import { poissonRequests, type StreamedRequest } from '../../engine/batch/request-stream.ts';
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
import { type MeasuredPass, measurePasses } from './passes.ts';
import { predictedServing, type Server } from './predicted.ts';

/** One load: requests at a rate, from a file, or from clients. */
export interface Load {
  readonly name: string;
  /** Requests per second as a share of the predicted capacity; `undefined` for clients and files. */
  readonly share: number | undefined;
  readonly clients: number | undefined;
}

/** A load with its three answers. */
export interface LoadAnswers extends Load {
  readonly requests: number;
  readonly predicted: PredictedServing;
  readonly simulated: ServingResult;
  readonly measured: ServedFigures;
  /** Wall time of the passes over the time that their threads had for themselves. */
  readonly waited: number;
}

export interface ServingToRun {
  readonly file: string;
  readonly threads: number;
  readonly seed: number;
  readonly weightsFile: string;
  /** Seconds of arrivals at each load. */
  readonly seconds: number;
  readonly shares: readonly number[];
  readonly clients: readonly number[];
  /** In place of drawn ones. */
  readonly requests: readonly StreamedRequest[] | undefined;
  readonly progress: (steps: number) => Progress;
}

export interface ServingRun {
  readonly model: Model;
  readonly loads: readonly LoadAnswers[];
  readonly passes: readonly MeasuredPass[];
  readonly host: HostSeconds;
  /** The cluster file by which loads were predicted and simulated. */
  readonly profile: string;
}

const PAGE_TOKENS = 64;
const PAGES = 32;
const CONTEXT = 512;
const PROMPT_TOKENS = [16, 256] as const;
const OUTPUT_TOKENS = [8, 64] as const;
/** Rounds of probes before the loads; the first doesn't count. */
const ROUNDS = 4;
const NO_DISK = { median: 1e14, spread: 0, repeats: 1 };

/** Probes this machine, measures single passes, then serves every load for real, in simulation and by prediction. */
export async function runServing(asked: ServingToRun): Promise<ServingRun> {
  const { threads, seed, shares, clients, seconds } = asked;
  const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  try {
    const pool = { pages: PAGES, pageTokens: PAGE_TOKENS, folder: tmpdir() };
    const sequences = loadSequences(asked.file, { kernels, context: CONTEXT, ...pool });
    const { model, mostTokens } = sequences;
    const fromFile = asked.requests;
    const loads: Load[] =
      fromFile === undefined
        ? [
            ...shares.map((share) => ({ name: `${share} of capacity`, share, clients: undefined })),
            ...clients.map((count) => ({
              name: count === 1 ? '1 client' : `${count} clients`,
              share: undefined,
              clients: count,
            })),
          ]
        : [{ name: 'the file’s requests', share: undefined, clients: undefined }];
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
    const drawn = (rate: number, count: number): StreamedRequest[] =>
      poissonRequests({ seed, rate, requests: count, promptTokens: PROMPT_TOKENS, outputTokens: OUTPUT_TOKENS });
    const { capacity } = predictedServing(server, fromFile ?? drawn(1, 1000), { clients: 1 });
    const count = Math.max(8, Math.ceil(capacity * seconds));
    await driveEngine(sequences, clock, { requests: drawn(capacity, 8), clients: 2 });
    const answers: LoadAnswers[] = [];
    for (const load of loads) {
      bar.step(load.name);
      const requests = fromFile ?? drawn((load.share ?? 1) * capacity, Math.ceil(count * Math.min(1, load.share ?? 1)));
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
    return { model, loads: answers, passes: passes.measured(server), host, profile };
  } finally {
    kernels.close();
  }
}
