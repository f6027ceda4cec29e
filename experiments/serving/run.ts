import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { PROMPT_TOKENS_BESIDE_DECODING } from '../../engine/batch/request-policy.ts';
import type { StreamedRequest } from '../../engine/batch/request-stream.ts';
import type { PredictedServing } from '../../engine/cost/serving.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { NativeAddon } from '../../engine/kernels/native/addon.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { THIS_HOST } from '../../engine/profile/memory/host.ts';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import type { Bench } from '../../engine/profile/probes/bench.ts';
import { withWeightsFile } from '../../engine/profile/probes/weights-file.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes } from '../../engine/profile/processor-probes.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import type { Sequences } from '../../engine/runtime/texts/sequences.ts';
import type { Progress } from '../../engine/terminal/progress.ts';
import { type ServedFigures, servedFigures } from '../../engine/trace/served-requests.ts';
import { type ServingResult, simulateServing } from '../../simulator/serving.ts';
import type { HostSeconds } from '../../simulator/systems/serving.ts';
import { mean } from '../report/mean.ts';
import { type Drawn, type DrawSpreads, drawSpreads } from './draws.ts';
import { type Driven, driveEngine } from './drive.ts';
import { probeEngine } from './engine-probe.ts';
import { drawnRequests, type Load, type LoadsAsked, loadsOf, requestsAt } from './loads.ts';
import { type Paced, simulatePaced } from './paced.ts';
import { type MeasuredPass, measurePasses } from './passes.ts';
import { predictedServing, type Server } from './predicted.ts';

/** A load with its three answers. */
export interface LoadAnswers extends Load {
  readonly requests: number;
  readonly predicted: PredictedServing;
  readonly simulated: ServingResult;
  readonly measured: ServedFigures;
  /** Pace of this machine. */
  readonly paced: Paced | undefined;
  /** Wall time of the passes over the time that their threads had for themselves. */
  readonly waited: number;
  /** How far other draws of as many requests lie apart, in simulation; `undefined` for requests of a file. */
  readonly draws: DrawSpreads | undefined;
}

export interface ServingToRun extends LoadsAsked {
  readonly addon: NativeAddon;
  readonly file: string;
  readonly threads: number;
  readonly seed: number;
  readonly weightsFile: string;
  /** Seconds of arrivals at each load. */
  readonly seconds: number;
  readonly progress: (steps: number) => Progress;
}

/** Servers: this machine, or a lab ring by where its weights are. */
export const SERVERS = ['this-machine', 'ring-in-memory', 'ring-streamed'] as const;
export type RingKind = Exclude<(typeof SERVERS)[number], 'this-machine'>;

export interface ServingRun {
  /** `undefined`: this machine. */
  readonly ring: RingKind | undefined;
  readonly model: Model;
  readonly loads: readonly LoadAnswers[];
  /** Measured passes of this machine. */
  readonly passes: readonly MeasuredPass[];
  readonly host: HostSeconds;
  /** The cluster file by which loads were predicted and simulated. */
  readonly profile: string;
}

const PAGE_TOKENS = 64;
const PAGES = 32;
const CONTEXT = 512;
/** Rounds of probes before the loads, the first of which doesn't count. */
const FIRST_ROUNDS = 2;
/** Fewest rounds of probes of each load. */
const LOAD_ROUNDS = 2;
/** Seconds of passes before the next probe, which takes about as long. */
const TURN_SECONDS = 0.1;
const MACHINE = 'this machine';
const NO_DISK = { median: 1e14, spread: 0, repeats: 1 };

/**
 * Serves every load on this machine, then in simulation and by prediction. Passes of a load take turns with probes, so that
 * both meet the machine at the same speeds: it is simulated by the probes among its passes. Single passes and the engine's
 * own time are measured between loads.
 */
export async function runServing(asked: ServingToRun): Promise<ServingRun> {
  const { addon, file, threads, seed, weightsFile, requests: fromFile } = asked;
  // Probes multiply weights that were written or read in order. Those that lie in small pages, as others have left them
  // in memory, take longer.
  addon.dropFromMemory(file);
  addon.readInOrder(file, 0, statSync(file).size);
  const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads }));
  try {
    const pool = { pages: PAGES, pageTokens: PAGE_TOKENS, folder: tmpdir() };
    const sequences = loadSequences(file, { kernels, context: CONTEXT, ...pool });
    const loads = loadsOf(asked);
    const bar = asked.progress(FIRST_ROUNDS + loads.length);
    return await withWeightsFile(weightsFile, seed, async () => {
      const weights = kernels.mapFile(weightsFile);
      const machine = probeMachine({ kernels, clock, weights, weightBytes: weights.size }, sequences);
      for (let round = 0; round < FIRST_ROUNDS; round++) {
        bar.step('probes and single passes');
        await machine.round();
      }
      const all = fromFile ?? drawnRequests(seed, 1, 1000);
      const { capacity } = predictedServing(machine.measured().server, all, { clients: 1 });
      await driveEngine(sequences, clock, { requests: drawnRequests(seed, capacity, 8), clients: 2 });
      const served: Served[] = [];
      for (const load of loads) {
        bar.step(load.name);
        const requests = fromFile ?? requestsAt(load, { ...asked, capacity });
        const from = machine.rounds;
        const { clients } = load;
        const driven = await driveEngine(sequences, clock, { requests, clients, between: machine.turn });
        await machine.complete(from + LOAD_ROUNDS);
        served.push({ load, requests, driven, probes: [from, machine.rounds] });
      }
      const { server, profile, passes } = machine.measured();
      const answers = served.map((own) =>
        answersTo(own, machine.measured(own.probes).server, fromFile ? undefined : { ...asked, capacity }),
      );
      return { ring: undefined, model: sequences.model, loads: answers, passes, host: server.host, profile };
    });
  } finally {
    kernels.close();
  }
}

/** A load as it was served, and the rounds of probes among its passes: from one to before another. */
interface Served {
  readonly load: Load;
  readonly requests: readonly StreamedRequest[];
  readonly driven: Driven;
  readonly probes: readonly [from: number, to: number];
}

/** Facts from rounds of probes about this machine, and the engine on it. */
function probeMachine(bench: Bench, sequences: Sequences) {
  const { kernels, clock } = bench;
  const { model, mostTokens } = sequences;
  const used = model.tensors.filter(({ rows }) => rows > 1).map(({ quantization }) => quantization);
  const probes = createProcessorProbes(bench, [...new Set<Quantization>([...used, 'F16'])], { passes: true });
  const timing = measurePasses(sequences, clock);
  const hosts: HostSeconds[] = [];
  const between = async (): Promise<void> => {
    await timing.round();
    hosts.push(await probeEngine(sequences));
  };
  let owed = 0;
  return {
    async round(): Promise<void> {
      await probes.round();
      await between();
    },
    /** After a pass of this many seconds: the next probe, once passes have taken their turn. */
    async turn(passSeconds: number): Promise<void> {
      owed += passSeconds;
      if (owed < TURN_SECONDS) return;
      owed = 0;
      await probes.step();
    },
    /** The rest of a round, and further ones up to a number; then single passes. */
    async complete(rounds: number): Promise<void> {
      while (!probes.isComplete || probes.rounds < rounds) await probes.step();
      await between();
    },
    get rounds() {
      return probes.rounds;
    },
    /** By some rounds of probes, or all but the first. */
    measured([from, to]: Partial<Served['probes']> = []) {
      const disk = { sequential: NO_DISK, random: NO_DISK, resident: 0 };
      const own = { name: MACHINE, memory: readMemory(THIS_HOST), disk, cache: undefined, gpu: undefined };
      const { instructionSet } = kernels;
      const profile = clusterFile({ ...own, cpu: probes.measures(from, to), instructionSet });
      const windows = [{ device: MACHINE, layers: model.layers, gpuLayers: 0 }];
      const counted = hosts.slice(1);
      const server: Server = {
        cluster: createCluster(parseCluster(profile, 'profile')),
        model,
        plan: ringPlan({ scheduler: 'hand', head: MACHINE, rounds: 1, windows, prefetch: 'none' }),
        limits: {
          ...{ pages: PAGES, pageTokens: PAGE_TOKENS, passTokens: mostTokens },
          ...{ promptTokensBesideDecoding: PROMPT_TOKENS_BESIDE_DECODING, chunk: undefined },
        },
        host: { pass: mean(counted.map(({ pass }) => pass)), token: mean(counted.map(({ token }) => token)) },
      };
      return { server, profile, passes: timing.measured(server) };
    },
  };
}

function answersTo({ load, requests, driven }: Served, server: Server, drawn: Drawn | undefined): LoadAnswers {
  const { limits, ...simulated } = server;
  const { clients } = load;
  const last = requests.at(-1)?.arrival ?? 0;
  const parts = { ...simulated, ...limits, requests, ...(clients !== undefined && { clients }) };
  return {
    ...load,
    requests: requests.length,
    predicted: predictedServing(
      server,
      requests,
      clients === undefined ? { rate: requests.length / last } : { clients },
    ),
    simulated: simulateServing(parts),
    paced: simulatePaced(server, parts, driven.passes),
    measured: servedFigures(driven.requests),
    waited: driven.wall / driven.own,
    draws: drawn && drawSpreads(load, drawn, (others) => simulateServing({ ...parts, requests: others }).figures),
  };
}
