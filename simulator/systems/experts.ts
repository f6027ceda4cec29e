import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { memoryShares } from '../../engine/cost/experts/memory-shares.ts';
import { createGuesser } from '../../engine/experts/draw-guesses.ts';
import { GUESSES_SEED } from '../../engine/experts/hit-rates.ts';
import type { Routing } from '../../engine/experts/routing.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Steps } from '../event-loop/effect.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import type { DiskThrottle } from '../hardware/disk.ts';
import { createExpertStore, type ExpertCounts } from '../hardware/expert-store.ts';
import { type ExpertPasses, runExpertPass } from './expert-passes.ts';

/** A run of a mixture whose experts don't fit, on one machine. */
export interface ExpertsRun {
  readonly one: ExpertsCase;
  /** Which experts tokens use, those of the prompt first. */
  readonly routing: Routing;
  /** Tokens of the prompt, which share a pass; 0 unless given, and where the case has no seconds of a prompt. */
  readonly promptTokens?: number;
  /** Tokens that are decoded. */
  readonly outputTokens: number;
  /** Decoded tokens at the beginning that fill caches and don't count; half of them unless given. */
  readonly warmUp?: number;
  /** Of what is guessed. */
  readonly seed?: number;
  readonly throttle?: DiskThrottle;
  /** `tokens`: the trace has no spans. */
  readonly record?: 'spans' | 'tokens';
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
}

const DEVICE = 'machine';

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
  } = run;
  const promptTokens = one.prompt === undefined ? 0 : (run.promptTokens ?? 0);
  const shares = memoryShares(one);
  const recorder = createRecorder({ spans: record === 'spans' });
  const { spans, tokens, counters } = recorder;
  const trace: Trace = { devices: [{ name: DEVICE, lanes: ['cpu', 'disk'] }], spans, tokens, counters };
  const simulation = createSimulation();
  const store = createExpertStore({
    ...{ simulation, one, shares, throttle },
    onRead: ({ name, start, end, bytes }) =>
      recorder.span({ device: DEVICE, lane: 'disk', cause: 'disk', name, start, end, args: { bytes } }),
  });
  const guesses = randomStream(seed, 'guesses');
  const passes: ExpertPasses = {
    ...{ simulation, recorder, device: DEVICE, one, store, routing },
    guess: createGuesser({ lookahead: one.policy.lookahead, precision: one.precision, routing }, guesses),
  };
  let before: ExpertCounts = store.counts;
  function* request(): Steps {
    if (promptTokens > 0 && one.prompt !== undefined) {
      const start = simulation.now;
      yield* runExpertPass(passes, { from: 0, to: promptTokens, seconds: one.prompt });
      recorder.token({ phase: 'prefill', start, end: simulation.now });
    }
    for (let token = 0; token < outputTokens; token++) {
      if (token === warmUp) before = { ...store.counts };
      const start = simulation.now;
      const from = promptTokens + token;
      yield* runExpertPass(passes, { from, to: from + 1, seconds: one.seconds });
      recorder.token({ phase: 'decode', start, end: simulation.now });
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
  };
}

function difference(now: ExpertCounts, before: ExpertCounts): ExpertCounts {
  const entries = Object.entries(now).map(([key, value]) => [key, value - (before as never)[key]]);
  return Object.fromEntries(entries) as unknown as ExpertCounts;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
