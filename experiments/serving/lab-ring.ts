import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labSimulation } from '../../datasets/lab/answers.ts';
import { type LabCell, planOf, shareBytes } from '../../datasets/lab/cell.ts';
import { LAB_POLICIES } from '../../datasets/lab/policies.ts';
import { loadClusterFile } from '../../datasets/load.ts';
import { MOST_CHUNK_TOKENS } from '../../engine/batch/pass-frames.ts';
import { PAGE_TOKENS, PASS_TOKENS, PROMPT_TOKENS_BESIDE_DECODING } from '../../engine/batch/request-policy.ts';
import type { StreamedRequest } from '../../engine/batch/request-stream.ts';
import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';
import { kvBytesPerToken } from '../../engine/model/kv-format.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { servedFigures } from '../../engine/trace/served-requests.ts';
import { simulateServing } from '../../simulator/serving.ts';
import { cellLimits } from '../lab/cell-limits.ts';
import { FOUR_DEVICES } from '../lab/experiment.ts';
import { type HeadRun, runHead } from '../lab/ring.ts';
import { type LabSession, logStep, onLab } from '../lab/session.ts';
import { drawSpreads } from './draws.ts';
import { drawnRequests, loadsOf, requestsAt } from './loads.ts';
import { predictedServing, type Server } from './predicted.ts';
import type { RingDriven, RingTask } from './ring-head.ts';
import type { LoadAnswers, RingKind, ServingRun, ServingToRun } from './run.ts';

/** Whole pages. */
const CONTEXT = 5 * PAGE_TOKENS;
const ROUNDS = 4;
const UNLIMITED = 1e12;
/** Disks four times as fast as those of the lab's other experiments, so that a load takes a minute. */
const DISK_RATE = 200e6;
/** Room for a window and the next. */
const MEMORY_SHARE = 0.62;
/** Requests of the run that probes the devices' own memory. */
const PROBED = 8;

const PROGRAM = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'ring-head.ts')];

/**
 * Probes a lab ring of four devices, then serves every load on it for real, in simulation and by prediction. A load
 * begins after one token, in the simulation as on the lab.
 * @throws InputError that says what this machine lacks for a lab
 */
export async function runRingServing(
  asked: Omit<ServingToRun, 'addon' | 'file' | 'threads' | 'weightsFile'> & { readonly models: string },
  kind: RingKind,
): Promise<ServingRun> {
  const { cluster } = loadClusterFile(FOUR_DEVICES);
  const { models, seed, clients } = asked;
  return onLab({ cluster, models, size: 'small', seed, passes: true }, async (session) => {
    const { model, lab, profile } = session;
    const loads = loadsOf(asked);
    const bar = asked.progress(1 + loads.length);
    const cell = cellOf(kind, model, lab.devices.length);
    const plan = planOf(cell, lab.devices, model);
    const texts = Math.max(...clients, PROBED);
    const setting: Setting = { session, cell, plan, texts };
    bar.step('memory of the devices');
    logStep('a run with everything in memory');
    const probing = { requests: drawnRequests(seed, 1, PROBED), clients: PROBED, probesEngine: true };
    const roomy: LabCell = { ...cell, ...rates(lab.devices.length, 2, UNLIMITED) };
    const probed = await serveInLab({ ...setting, cell: roomy }, probing, [0, 0, 0, 0]);
    const { host } = probed.driven;
    if (host === undefined) throw new RangeError('the engine was not probed');
    const pages = lab.devices.map((name) => PAGE_TABLES * shareBytes(plan, model, name));
    const ownBytes = (probed.ownBytes ?? session.facts.ownBytes).map((bytes, index) =>
      Math.max(0, bytes - (pages[index] as number)),
    );
    const diskRates = kind === 'ring-streamed' ? cell.diskRates.map(session.diskRate) : cell.diskRates;
    const limits = {
      ...{ pages: (texts * CONTEXT) / PAGE_TOKENS, pageTokens: PAGE_TOKENS },
      ...{ passTokens: PASS_TOKENS, chunk: MOST_CHUNK_TOKENS },
      promptTokensBesideDecoding: PROMPT_TOKENS_BESIDE_DECODING,
    };
    /** The devices with this many bytes for weights, and, as the cost model counts them apart, for keys and values. */
    const simulationWith = (room: readonly number[]) => {
      const withCaches = room.map((bytes, index) => {
        const layers = (cell.windows[index] as number) * cell.rounds;
        return bytes + layers * texts * CONTEXT * kvBytesPerToken(model.mean, 'F16');
      });
      const facts = { ...session.facts, ownBytes };
      return labSimulation({ facts, model, devices: lab.devices, cell, diskRates, room: withCaches }, plan);
    };
    const shares = lab.devices.map(
      (name, index) => (cell.memoryShares[index] as number) * shareBytes(plan, model, name),
    );
    const serverWith = (room: readonly number[]): Server => {
      const { cluster: truth, runtime } = simulationWith(room);
      return { cluster: truth, model, plan, limits, host, overlapped: runtime };
    };
    const server = serverWith(shares);
    const { capacity } = predictedServing(server, asked.requests ?? drawnRequests(seed, 1, 1000), { clients: 1 });
    const answers: LoadAnswers[] = [];
    for (const load of loads) {
      bar.step(load.name);
      logStep(load.name);
      const requests = asked.requests ?? requestsAt(load, { ...asked, capacity });
      const { driven, ownBytes: held } = await serveInLab(
        setting,
        { requests, clients: load.clients, probesEngine: false },
        ownBytes,
      );
      const room = held?.map((bytes, index) => {
        const limit = (shares[index] as number) + (ownBytes[index] as number);
        return limit - (bytes - (pages[index] as number));
      });
      const { clients: count, share: _, name } = load;
      const last = requests.at(-1)?.arrival ?? 0;
      const parts = { ...simulationWith(room ?? shares), ...limits, model, plan, host, warm: true };
      const simulated = (own: readonly StreamedRequest[]) =>
        simulateServing({ ...parts, requests: own, ...(count !== undefined && { clients: count }) });
      answers.push({
        ...load,
        name,
        requests: requests.length,
        predicted: predictedServing(
          serverWith(room ?? shares),
          requests,
          count === undefined ? { rate: requests.length / last } : { clients: count },
        ),
        simulated: simulated(requests),
        measured: servedFigures(driven.requests),
        paced: undefined,
        waited: driven.wall / driven.own,
        draws: asked.requests ? undefined : drawSpreads(load, { ...asked, capacity }, (own) => simulated(own).figures),
      });
    }
    return { ring: kind, model, loads: answers, passes: [], host, profile };
  });
}

const rates = (devices: number, share: number, rate: number): Pick<LabCell, 'memoryShares' | 'diskRates'> => ({
  memoryShares: Array(devices).fill(share),
  diskRates: Array(devices).fill(rate),
});

function cellOf(kind: RingKind, { layers }: Model, devices: number): LabCell {
  const windows = Array(devices).fill(layers / devices / ROUNDS);
  return kind === 'ring-streamed'
    ? { rounds: ROUNDS, windows, policy: LAB_POLICIES.drop, ...rates(devices, MEMORY_SHARE, DISK_RATE) }
    : { rounds: ROUNDS, windows, policy: LAB_POLICIES.none, ...rates(devices, 2, UNLIMITED) };
}

interface Setting {
  readonly session: LabSession;
  readonly cell: LabCell;
  readonly plan: Plan;
  readonly texts: number;
}

/** Serves requests on the lab's devices. @param ownBytes what each device's process takes in addition to weights */
async function serveInLab(
  { session: { lab, model, file }, cell, plan, texts }: Setting,
  served: Pick<RingTask, 'requests' | 'clients' | 'probesEngine'>,
  ownBytes: readonly number[],
): Promise<HeadRun & { readonly driven: RingDriven }> {
  const [taskFile, resultFile] = [join(lab.folder, 'task.json'), join(lab.folder, 'served.json')];
  const task: RingTask = { context: CONTEXT, texts, passTokens: PASS_TOKENS, ...served };
  writeFileSync(taskFile, JSON.stringify(task));
  const read = (): RingDriven => JSON.parse(readFileSync(resultFile, 'utf8'));
  const limits = cellLimits(lab, { cell, model, plan, ownBytes });
  const run = await runHead(
    lab,
    { model: file, plan, limits },
    { program: PROGRAM, options: [taskFile, resultFile], watched: false, during: () => read().during },
  );
  return { ...run, driven: read() };
}
