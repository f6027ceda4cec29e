import type { ExpertsCase, PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import { memoryShares } from '../../engine/cost/experts/memory-shares.ts';
import { createGuesser } from '../../engine/experts/draw-guesses.ts';
import { GUESSES_SEED } from '../../engine/experts/hit-rates.ts';
import type { Routing } from '../../engine/experts/routing.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import type { DiskThrottle } from '../hardware/disk.ts';
import { createExpertStore, type ExpertCounts } from '../hardware/expert-store.ts';
import type { SimulatedSpeculation, SimulationOptions } from '../options.ts';
import type { PageCacheUsage } from '../page-cache/page-cache.ts';
import type { PageCacheCounters } from '../page-cache/state.ts';
import { runsOf } from './drafted-runs.ts';
import { type ExpertPasses, fillWithToken, runExpertPass } from './expert-passes.ts';

/** A run of a mixture whose experts don't fit, on one machine. */
export interface ExpertsRun {
  /** Its name in the trace; `machine` unless given. */
  readonly device?: string | undefined;
  readonly one: ExpertsCase;
  /** Which experts tokens use, those of the prompt first. */
  readonly routing: Routing;
  /** Tokens of the prompt, which share a pass; 0 unless given, and where the case has no seconds of a prompt. */
  readonly promptTokens?: number;
  /** Tokens that are decoded. */
  readonly outputTokens: number;
  /** Decoded tokens at the beginning that fill caches and don't count; half of them unless given. */
  readonly warmUp?: number;
  /** Seed of the guesses. */
  readonly seed?: number;
  /** How tokens are drafted and verified in place of `one.pass.tokens`; they aren't unless given. */
  readonly drafts?: DraftedPasses | undefined;
  readonly throttle?: DiskThrottle;
  /** `tokens`, the default: the trace has no spans. */
  readonly record?: 'spans' | 'tokens';
  /** Caches hold at the start what the second half of the routing leaves in them. */
  readonly warm?: boolean | undefined;
  /** Called after every decoded token; the run ends when it returns true. */
  readonly isEnough?: SimulationOptions['isEnough'] | undefined;
}

/** Drafts of a run: how long they are and what is accepted of them, and the seconds of verifying them. */
export interface DraftedPasses {
  readonly speculation: SimulatedSpeculation;
  /** Seconds of a pass of so many tokens of each text. */
  readonly secondsOf: (tokens: number) => PassSeconds;
  /** Seed of what is accepted. */
  readonly seed: number;
}

export interface SimulatedExperts {
  /** Why this can't run; missing: it can. */
  readonly shortage?: string;
  readonly trace: Trace;
  /** Seconds of the prompt, if it has one. */
  readonly firstTokenSeconds: number | undefined;
  /** Mean seconds of the tokens that count. */
  readonly tokenSeconds: number;
  /** Counts of those tokens. */
  readonly counts: ExpertCounts;
  readonly tokens: number;
  /** Share of needed experts that slots, or mapped pages, held. */
  readonly hitRate: number;
  /** Bytes that the disk reads for a token. */
  readonly readBytes: number;
  readonly slots: number;
  readonly allSlots: number;
  /** Totals of the whole run: seconds, those in which the processor waited and in which bytes came, and counts. */
  readonly seconds: number;
  readonly stallSeconds: number;
  readonly diskSeconds: number;
  readonly totals: ExpertCounts;
  /** Bytes of experts that were read since they were guessed. */
  readonly guessedBytes: number;
  readonly cache: PageCacheUsage;
  readonly pageCounters: PageCacheCounters;
}

/** Simulates a case that predictExperts predicts. */
export function simulateExperts(run: ExpertsRun): SimulatedExperts {
  const {
    one,
    routing,
    outputTokens,
    warmUp = outputTokens >> 1,
    seed = GUESSES_SEED,
    throttle,
    record = 'tokens',
    device = 'machine',
  } = run;
  const promptTokens = one.prompt === undefined ? 0 : (run.promptTokens ?? 0);
  const shares = memoryShares(one);
  const recorder = createRecorder({ spans: record === 'spans' });
  const { spans, tokens, counters } = recorder;
  const trace: Trace = { devices: [{ name: device, lanes: ['cpu', 'disk'] }], spans, tokens, counters };
  const simulation = createSimulation();
  const store = createExpertStore({
    ...{ simulation, one, shares, throttle },
    onRead: ({ name, start, end, bytes }) =>
      recorder.span({ device, lane: 'disk', cause: 'disk', name, start, end, args: { bytes } }),
  });
  const guesses = randomStream(seed, 'guesses');
  const passes: ExpertPasses = {
    ...{ simulation, recorder, device, one, store, routing, totals: { waited: 0 } },
    guess: createGuesser({ lookahead: one.policy.lookahead, precision: one.precision, routing }, guesses),
  };
  let before: ExpertCounts = { ...store.counts };
  const { drafts } = run;
  const texts = one.pass?.texts ?? 1;
  const most = drafts?.speculation.draftTokens ?? 0;
  const sure = runsOf(drafts?.speculation.sureRate ?? 1, drafts?.seed ?? 0, 'sure drafts');
  const accepted = runsOf(drafts?.speculation.acceptanceRate ?? 0, drafts?.seed ?? 0, 'accepted drafts');
  function* draft(count: number): Steps {
    const seconds = count * (drafts?.speculation.draftSeconds ?? 0);
    if (seconds === 0) return;
    const start = simulation.now;
    yield hold(seconds);
    recorder.span({ device, lane: 'cpu', cause: 'compute', name: 'draft', start, end: simulation.now, args: {} });
  }
  function* request(): Steps {
    const warming = run.warm ? routing.tokens >> 1 : 0;
    for (let token = routing.tokens - warming; token < routing.tokens; token++) fillWithToken(passes, token);
    if (promptTokens > 0 && one.prompt !== undefined) {
      const start = simulation.now;
      yield* runExpertPass(passes, { tokens: { texts, tokens: promptTokens }, from: 0, seconds: one.prompt });
      recorder.token({ phase: 'prefill', start, end: simulation.now });
    }
    for (let token = 0; token < outputTokens; ) {
      const start = simulation.now;
      const drafted = sure(Math.min(most, outputTokens - token - 1));
      const pass = drafts === undefined ? one.seconds : drafts.secondsOf(drafted + 1);
      yield* draft(Math.min(most, drafted + 1));
      const together = drafts === undefined ? (one.pass?.tokens ?? 1) : drafted + 1;
      yield* runExpertPass(passes, { tokens: { texts, tokens: together }, from: promptTokens + token, seconds: pass });
      const given = drafts === undefined ? Math.min(together, outputTokens - token) : accepted(drafted) + 1;
      const share = (simulation.now - start) / given;
      for (let index = 0; index < given; index++) {
        recorder.token({ phase: 'decode', start: start + index * share, end: start + (index + 1) * share });
        token += 1;
        if (token === warmUp) before = { ...store.counts };
      }
      if (run.isEnough?.(tokens)) return;
    }
  }
  if (shares.shortage === undefined) {
    const process = simulation.spawn('request', request());
    simulation.run(process);
  }
  const counted = tokens.filter(({ phase }) => phase === 'decode').slice(warmUp);
  const prefill = tokens.find(({ phase }) => phase === 'prefill');
  const counts = difference(store.counts, before);
  return {
    ...(shares.shortage !== undefined && { shortage: shares.shortage }),
    trace,
    firstTokenSeconds: prefill && prefill.end - prefill.start,
    tokenSeconds:
      shares.shortage === undefined ? meanOf(counted.map(({ start, end }) => end - start)) : Number.POSITIVE_INFINITY,
    counts,
    tokens: counted.length,
    hitRate: counts.hits / counts.needs,
    readBytes: (counts.bytes + counts.denseBytes) / counted.length,
    slots: shares.slots,
    allSlots: shares.allSlots,
    seconds: simulation.now,
    stallSeconds: passes.totals.waited,
    diskSeconds: store.bus.busySeconds(),
    totals: store.counts,
    guessedBytes: store.counts.guessed * one.mixture.expertBytes,
    cache: store.pages?.usage() ?? NO_PAGES,
    pageCounters: store.pages?.counters() ?? NO_PAGE_COUNTS,
  };
}

const NO_PAGES: PageCacheUsage = { resident: 0, pinned: 0, reading: 0, capacity: 0, swappedOut: 0 };
const NO_PAGE_COUNTS: PageCacheCounters = { read: 0, reloaded: 0, refaulted: 0, reclaimed: 0, released: 0 };

function difference(now: ExpertCounts, before: ExpertCounts): ExpertCounts {
  const entries = Object.entries(now).map(([key, value]) => [key, value - (before as never)[key]]);
  return Object.fromEntries(entries) as unknown as ExpertCounts;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
