import type { ExpertsCase, PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import { GUESSES_SEED } from '../../engine/experts/hit-rates.ts';
import { ONE_TOKEN, type Routing } from '../../engine/experts/routing.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import type { DiskThrottle } from '../hardware/disk.ts';
import type { ExpertCounts } from '../hardware/expert-store.ts';
import type { SimulationOptions } from '../options.ts';
import type { PageCacheUsage } from '../page-cache/page-cache.ts';
import type { PageCacheCounters } from '../page-cache/state.ts';
import { fillWithTokens, NO_PAGE_COUNTS, NO_PAGES, openExpertPasses, runExpertPass } from './expert-passes.ts';
import { runExpertTexts, type TextDrafts } from './expert-texts.ts';

/** A run of a mixture whose experts don't fit, on one machine. */
export interface ExpertsRun {
  /** Its name in the trace; `machine` unless given. */
  readonly device?: string | undefined;
  readonly one: ExpertsCase;
  /** The experts that tokens use, those of the prompt first. */
  readonly routing: Routing;
  /** Tokens of the prompt, which share a pass; 0 by default, and if the case has no seconds of a prompt. */
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

/** Drafts of a run, and the seconds of verifying them. */
export interface DraftedPasses extends TextDrafts {
  /** Seconds of a pass of this many tokens of each text. */
  readonly secondsOf: (tokens: number) => PassSeconds;
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
  const { one, routing, outputTokens, warmUp = outputTokens >> 1, seed = GUESSES_SEED, drafts, isEnough } = run;
  const { record = 'tokens', device = 'machine', throttle } = run;
  const promptTokens = one.prompt === undefined ? 0 : (run.promptTokens ?? 0);
  const recorder = createRecorder({ spans: record === 'spans' });
  const { spans, tokens, counters } = recorder;
  const trace: Trace = { devices: [{ name: device, lanes: ['cpu', 'disk'] }], spans, tokens, counters };
  const simulation = createSimulation();
  const passes = openExpertPasses({ simulation, recorder, device, one, routing, seed, throttle });
  const { store, shares } = passes;
  let before: ExpertCounts = { ...store.counts };
  const texts = runExpertTexts({
    ...{ simulation, recorder, device, promptTokens, outputTokens, drafts, isEnough },
    together: one.pass ?? ONE_TOKEN,
    pass(phase, tokens, from) {
      const decoding = drafts === undefined ? one.seconds : drafts.secondsOf(tokens.tokens);
      const seconds = phase === 'prefill' ? (one.prompt as PassSeconds) : decoding;
      return runExpertPass(passes, { tokens, from, seconds });
    },
    onToken(count) {
      if (count === warmUp) before = { ...store.counts };
    },
  });
  if (shares.shortage === undefined) {
    if (run.warm) fillWithTokens(passes);
    simulation.run(simulation.spawn('request', texts));
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

function difference(now: ExpertCounts, before: ExpertCounts): ExpertCounts {
  const entries = Object.entries(now).map(([key, value]) => [key, value - (before as never)[key]]);
  return Object.fromEntries(entries) as unknown as ExpertCounts;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
