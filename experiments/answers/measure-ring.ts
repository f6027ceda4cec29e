import { MOST_CHUNK_TOKENS } from '../../engine/batch/pass-frames.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import { checkKvFormat, type KvFormat } from '../../engine/model/kv-format.ts';
import { isRecurrent } from '../../engine/model/layer-kind.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { clockFor, type ProcessorClock, type Timing } from '../../engine/profile/processor-clock.ts';
import { type Sample, sampleOf } from '../../engine/profile/sample.ts';
import type { RingGpu } from '../../engine/ring/device/device-part.ts';
import { type LoadedPart, loadPart } from '../../engine/ring/device/loaded-part.ts';
import { pageTokensOf } from '../../engine/ring/device/memory.ts';
import { RingError } from '../../engine/ring/head/errors.ts';
import { type RingHead, startHead } from '../../engine/ring/head/head.ts';
import { surveyLinks } from '../../engine/ring/head/link-survey.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { measuredCluster } from '../../engine/ring/head/measured-links.ts';
import type { MemberAddress } from '../../engine/ring/head/member.ts';
import { fittedPlan, sharersOf } from '../../engine/ring/head/planning.ts';
import { createRingTexts, type RingModel, ringModel } from '../../engine/ring/head/ring-texts.ts';
import { ringTrace } from '../../engine/ring/head/trace.ts';
import { clock as ringClock } from '../../engine/ring/wire/clock.ts';
import type { KeyPair } from '../../engine/ring/wire/keys.ts';
import { countedTokens, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { TokenInterval, Trace } from '../../engine/trace/trace.ts';
import type { PlanAnswer } from './answers.ts';
import { partsOf, partsWithin } from './parts.ts';
import { ringLayout, withPolicies } from './ring-layout.ts';

/** How a plan is measured. */
export interface MeasuredCase {
  /** The plan's file, for messages. */
  readonly file: string;
  readonly model: string;
  readonly plan: Plan;
  readonly kernels: KernelOptions;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly kvFormat: KvFormat;
  /** Runs that count; one more comes before them. */
  readonly repeats: number;
  readonly log: (line: string) => void;
  /** Called before each run. */
  readonly onRun: (what: string) => void;
}

export interface RingCase extends MeasuredCase {
  /** This machine's GPU, where the plan uses it. */
  readonly gpu: RingGpu | undefined;
  /** The chip that this machine stands for, where the plan cuts operators between its GPU and NPU. */
  readonly chip: ChipDevice | undefined;
  readonly members: readonly MemberAddress[];
  readonly keys: KeyPair | undefined;
  /** Memory for weights and KV caches on this device, and of the whole process, bytes. */
  readonly memory: number;
  readonly memoryLimit: number;
  /** Facts about the devices; `undefined`: they describe themselves, and links are measured. */
  readonly cluster: Cluster | undefined;
  /** This device with this many threads as in a cluster file, JSON. */
  readonly profile: (threads: number) => Promise<string>;
  /** Whether devices are measured again that have been measured before. */
  readonly fresh: boolean;
}

export interface MeasuredAnswer extends PlanAnswer {
  /** Times of all runs that count, by `clock`. */
  readonly samples: { readonly ttft: Sample; readonly tpot: Sample };
  /** `own`: without the time for which this process waited for processors that others used. */
  readonly clock: 'own' | 'wall';
  /** A run with a recorder; `undefined` where there is none. */
  readonly trace: Trace | undefined;
  /** The plan as it was carried out: what `fit` left open is decided. */
  readonly plan: Plan;
}

/**
 * Carries a plan out on a ring, of one device or several, and measures it.
 * @throws InputError and RingError for a device that is missing or unfit, and for a plan that it can't carry out
 */
export async function measureOnRing(asked: RingCase): Promise<{ measured: MeasuredAnswer; cluster: Cluster }> {
  const { opened: kernels, clock } = clockFor(() => openKernels(asked.kernels));
  try {
    const loaded = loadPart(asked.model, kernels, MOST_CHUNK_TOKENS, asked.log);
    checkKvFormat(loaded.part.model, asked.kvFormat);
    const cluster = asked.cluster ?? (await clusterOf(asked, loaded, kernels.threads));
    validatePlan(asked.plan, cluster, loaded.part.model, asked.file);
    const timed = await withHead(asked, loaded, false, (head) => timedRuns(asked, head, loaded, clock));
    const recorded = await withHead(asked, loaded, true, (head) => recordedRun(asked, head, loaded, clock));
    return { cluster, measured: answerOf(asked, timed, recorded) };
  } finally {
    kernels.close();
  }
}

/** The cluster as it is now. */
async function clusterOf(asked: RingCase, loaded: LoadedPart, threads: number): Promise<Cluster> {
  if (asked.members.length === 0) return ownCluster(asked, threads);
  return await withHead(asked, loaded, false, (head) => describedCluster(asked, head, threads));
}

/** A cluster of this device alone, under the name that the plan gives it. */
export async function ownCluster(
  { plan, memory, profile }: Pick<RingCase, 'plan' | 'memory' | 'profile'>,
  threads: number,
): Promise<Cluster> {
  const facts = [{ device: plan.embedding.device, facts: await profile(threads), memory }];
  return parseCluster(measuredCluster(facts, [], { addresses: [], unreachable: [] }), 'hearth profile');
}

async function withHead<Result>(
  asked: RingCase,
  loaded: LoadedPart,
  trace: boolean,
  use: (head: RingHead) => Promise<Result>,
): Promise<Result> {
  const { plan, gpu, members, keys, memory, memoryLimit, kvFormat, log } = asked;
  const context = contextOf(asked);
  const pageTokens = pageTokensOf(plan, context);
  const head = startHead({
    chip: asked.chip,
    ...{ name: plan.embedding.device, loaded, gpu, keys, members, memory, memoryLimit, log },
    settings: {
      ...{ context, requests: 1, pageTokens, kvCache: kvFormat, activations: 'F32', trace },
      chunk: MOST_CHUNK_TOKENS,
    },
  });
  try {
    await head.gather();
    return await use(head);
  } finally {
    await head.close();
  }
}

export const contextOf = ({ promptTokens, outputTokens }: MeasuredCase): number => promptTokens + outputTokens;

/** The cluster as its devices describe it, with links measured by a ring without layers. */
async function describedCluster(
  { plan, members, memory, profile, fresh, log }: RingCase,
  head: RingHead,
  threads: number,
): Promise<Cluster> {
  const own = plan.embedding.device;
  log('asking all devices for their profiles; a device that has none measures itself, which takes up to a minute');
  const [facts, others] = await Promise.all([profile(threads), head.profiles(fresh)]);
  const { links, unreachable } = await surveyLinks(head, { own, workers: members.map(({ name }) => name) }, log);
  const text = measuredCluster([{ device: own, facts, memory }, ...others], links, { addresses: [], unreachable });
  return parseCluster(text, 'descriptions by the devices');
}

/** A text in the assembled ring. @throws RingError if a device is lost */
async function openText(asked: RingCase, head: RingHead, { part: { model } }: LoadedPart): Promise<RingModel> {
  const layout = ringLayout(asked.plan, model, asked.file);
  const ring = recoveringRing(
    head,
    (present) => {
      const lost = [...layout.windows, ...sharersOf(asked.plan)].find(({ device }) => !present.includes(device));
      if (lost !== undefined) throw new RingError(lost.device, 'is gone; measure again when it is back');
      return layout;
    },
    asked.log,
  );
  await ring.ready();
  const context = contextOf(asked);
  const pageTokens = pageTokensOf(asked.plan, context);
  const pages = { contextLength: context, pages: Math.ceil(context / pageTokens), pageTokens };
  return ringModel(createRingTexts(ring, { ...pages, isRecurrent: isRecurrent(model) }));
}

/** Tokens whose time is known to be like that of any others: what they are doesn't matter. */
export function drawnTokens(
  { promptTokens, outputTokens }: Pick<MeasuredCase, 'promptTokens' | 'outputTokens'>,
  vocabularySize: number,
): number[] {
  return Array.from({ length: promptTokens + outputTokens }, (_, index) => (7 * index + 1) % vocabularySize);
}

/** One pass of a model over tokens. */
export type Evaluate = (tokens: readonly number[]) => Promise<unknown>;

/** Timings of a prompt, and of those tokens after it that count together. */
export interface RunTimings {
  readonly prefill: Timing;
  readonly decode: Timing;
}

/** Runs a prompt and the tokens after it, of which neither the first nor the last counts (countedTokens). */
export async function timedRun(
  evaluate: Evaluate,
  tokens: readonly number[],
  promptTokens: number,
  { time }: ProcessorClock,
): Promise<RunTimings> {
  const prefill = await time(async () => void (await evaluate(tokens.slice(0, promptTokens))));
  await evaluate(tokens.slice(promptTokens, promptTokens + 1));
  const decode = await time(async () => {
    for (const token of tokens.slice(promptTokens + 1, -1)) await evaluate([token]);
  });
  await evaluate(tokens.slice(-1));
  return { prefill, decode };
}

interface TimedRuns {
  readonly runs: readonly RunTimings[];
  readonly plan: Plan;
}

async function timedRuns(
  asked: RingCase,
  head: RingHead,
  loaded: LoadedPart,
  clock: ProcessorClock,
): Promise<TimedRuns> {
  const text = await openText(asked, head, loaded);
  if (asked.members.length > 0) await head.measure(); // frames are cut by it
  const tokens = drawnTokens(asked, loaded.part.model.vocabularySize);
  const runs: RunTimings[] = [];
  for (let run = 0; run <= asked.repeats; run++) {
    asked.onRun(run === 0 ? 'first run' : `run ${run} of ${asked.repeats}`);
    text.rewind(0);
    runs.push(await timedRun(text.evaluate, tokens, asked.promptTokens, clock));
  }
  return { runs: runs.slice(1), plan: fittedPlan(withPolicies(asked.plan), head.weights) };
}

interface RecordedRun {
  readonly trace: Trace;
  /** Its own time over its wall-clock time. */
  readonly ownShare: number;
}

/** Two runs with a recorder, the second of which is the trace. */
async function recordedRun(
  asked: RingCase,
  head: RingHead,
  loaded: LoadedPart,
  clock: ProcessorClock,
): Promise<RecordedRun> {
  const text = await openText(asked, head, loaded);
  const tokens = drawnTokens(asked, loaded.part.model.vocabularySize);
  const intervals: TokenInterval[] = [];
  const evaluate: Evaluate = async (some) => {
    const start = ringClock();
    await text.evaluate(some);
    intervals.push({ phase: text.position === asked.promptTokens ? 'prefill' : 'decode', start, end: ringClock() });
  };
  asked.onRun('run that is recorded');
  await timedRun(evaluate, tokens, asked.promptTokens, clock);
  await head.collectSpans();
  intervals.length = 0;
  text.rewind(0);
  const { decode } = await timedRun(evaluate, tokens, asked.promptTokens, clock);
  return { trace: ringTrace(await head.collectSpans(), intervals), ownShare: decode.own / decode.wall };
}

function answerOf(asked: RingCase, { runs, plan }: TimedRuns, { trace, ownShare }: RecordedRun): MeasuredAnswer {
  const usesGpu = [plan.output, plan.embedding, ...plan.stages].some(({ processor }) => processor === 'gpu');
  // Threads of other processes and of GPUs aren't counted.
  const clock = asked.members.length === 0 && !usesGpu ? 'own' : 'wall';
  const samples = samplesOf(asked, runs, clock);
  const factor = clock === 'own' ? ownShare : 1;
  const phaseOf = (sample: Sample, intervals: readonly TokenInterval[]) => {
    const parts = partsOf(trace, intervals);
    const own = { ...parts, computing: factor * parts.computing };
    return { seconds: sample.median, parts: partsWithin(own, sample.median) };
  };
  const prompt = trace.tokens.filter(({ phase }) => phase === 'prefill');
  return {
    ...{ samples, clock, trace, plan },
    ttft: phaseOf(samples.ttft, prompt),
    tpot: phaseOf(samples.tpot, countedTokens(trace)),
    readBytes: tokenFigures(trace).bytes,
  };
}

/**
 * Times in seconds of a prompt and of a token, each of the half of the runs whose threads waited for processors for the
 * smallest share of the time.
 */
export function samplesOf(
  { outputTokens }: Pick<MeasuredCase, 'outputTokens'>,
  runs: readonly RunTimings[],
  clock: keyof Timing,
): MeasuredAnswer['samples'] {
  const quietest = (timings: readonly Timing[]): Timing[] => {
    const waited = ({ wall, own }: Timing): number => 1 - own / wall;
    return timings.toSorted((a, b) => waited(a) - waited(b)).slice(0, Math.ceil(timings.length / 2));
  };
  return {
    ttft: sampleOf(quietest(runs.map(({ prefill }) => prefill)).map((timing) => timing[clock])),
    tpot: sampleOf(quietest(runs.map(({ decode }) => decode)).map((timing) => timing[clock] / (outputTokens - 2))),
  };
}
