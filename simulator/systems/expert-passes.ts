import type { ExpertsCase, PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import { type MemoryShares, memoryShares } from '../../engine/cost/experts/memory-shares.ts';
import { createGuesser, type Guesser } from '../../engine/experts/draw-guesses.ts';
import { chosenBy, type PassTokens, type Routing, unionOf } from '../../engine/experts/routing.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { DiskThrottle } from '../hardware/disk.ts';
import { createExpertStore, type ExpertStore } from '../hardware/expert-store.ts';
import type { PageCacheUsage } from '../page-cache/page-cache.ts';
import type { PageCacheCounters } from '../page-cache/state.ts';

/** Inputs and totals of a machine's passes through a mixture's layers. */
export interface ExpertPasses {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  /** The device's name in traces. */
  readonly device: string;
  readonly one: ExpertsCase;
  readonly shares: MemoryShares;
  readonly store: ExpertStore;
  /** The experts that tokens use; with more tokens than it has, it begins anew. */
  readonly routing: Routing;
  readonly guess: Guesser;
  /** Seconds for which the processor has waited. */
  readonly totals: { waited: number };
}

/** A machine whose reads don't go through a page cache. */
export const NO_PAGES: PageCacheUsage = { resident: 0, pinned: 0, reading: 0, capacity: 0, swappedOut: 0 };
export const NO_PAGE_COUNTS: PageCacheCounters = { read: 0, reloaded: 0, refaulted: 0, reclaimed: 0, released: 0 };

/** One pass of tokens, which share the experts that any of them uses. */
export interface ExpertPass {
  readonly tokens: PassTokens;
  /** The first of each text, counted from its begin (unionOf). */
  readonly from: number;
  readonly seconds: PassSeconds;
}

/** Parts of a machine's passes, apart from those that are opened with them. */
export type ExpertPassesParts = Pick<ExpertPasses, 'simulation' | 'recorder' | 'device' | 'one' | 'routing'> & {
  /** Seed of the guesses. */
  readonly seed: number;
  readonly throttle?: DiskThrottle | undefined;
};

/** Passes of a machine whose caches are empty. */
export function openExpertPasses({ seed, throttle, ...parts }: ExpertPassesParts): ExpertPasses {
  const { simulation, recorder, device, one, routing } = parts;
  const shares = memoryShares(one);
  const store = createExpertStore({
    ...{ simulation, one, shares, throttle },
    onRead: ({ name, start, end, bytes }) =>
      recorder.span({ device, lane: 'disk', cause: 'disk', name, start, end, args: { bytes } }),
  });
  const guess = createGuesser(
    { lookahead: one.policy.lookahead, precision: one.precision, routing },
    randomStream(seed, 'guesses'),
  );
  return { ...parts, shares, store, guess, totals: { waited: 0 } };
}

/** Runs a pass through all layers with experts, and what else a token computes. */
export function* runExpertPass(passes: ExpertPasses, pass: ExpertPass): Steps {
  for (let layer = 0; layer < passes.one.mixture.layers; layer++) yield* runExpertLayer(passes, pass, layer);
  yield* endExpertPass(passes, pass);
}

/** Computes everything outside layers with experts. */
export function* endExpertPass(passes: ExpertPasses, { seconds }: Pick<ExpertPass, 'seconds'>): Steps {
  yield* passes.store.useDense(passes.one.mixture.layers);
  yield* compute(passes, 'output and other layers', seconds.other);
}

/**
 * A layer: the weights that every token uses, up to the router; then the experts that it has chosen. Missing ones are read,
 * and after them the guesses for the next layer. With hits first, the processor meanwhile multiplies the experts of a single
 * token that are in memory, and the others as they arrive; those of several tokens are multiplied together.
 */
export function* runExpertLayer(passes: ExpertPasses, pass: ExpertPass, layer: number): Steps {
  const { one, store, simulation } = passes;
  const { seconds } = pass;
  const name = `layer ${layer}`;
  yield* store.useDense(layer);
  yield* compute(passes, name, seconds.layer);
  const chosen = unionOf(passes.routing, pass.tokens, pass.from, layer);
  const isSingle = pass.tokens.texts * pass.tokens.tokens === 1;
  for (let first = 0; first < chosen.length; first += store.together) {
    const group = chosen.slice(first, first + store.together);
    const needed = store.need(layer, group);
    if (isSingle) guessNext(passes, pass.from, layer);
    yield* waitFor(passes, `slots of ${name}`, needed.return());
    if (!one.policy.hitsFirst || !isSingle) {
      const begin = simulation.now;
      for (const arrive of needed.arrivals) yield* waitFor(passes, `experts of ${name}`, arrive());
      const resume = simulation.now > begin ? (seconds.resume ?? 0) : 0;
      yield* compute(passes, `${group.length} experts of ${name}`, resume + group.length * seconds.expert);
      continue;
    }
    if (needed.held > 0) yield* compute(passes, `${needed.held} experts of ${name}`, needed.held * seconds.expert);
    for (const arrive of needed.arrivals) {
      const begin = simulation.now;
      yield* waitFor(passes, `experts of ${name}`, arrive());
      const resume = simulation.now > begin ? (seconds.resume ?? 0) : 0;
      yield* compute(passes, `an expert of ${name}`, resume + seconds.expert);
    }
  }
}

/** Fills caches, in no time, with the experts that the second half of the routing's tokens would leave in them if decoded. */
export function fillWithTokens(passes: ExpertPasses): void {
  const { tokens } = passes.routing;
  for (let token = tokens - (tokens >> 1); token < tokens; token++) fillWithToken(passes, token);
}

function fillWithToken({ one, store, routing, guess }: ExpertPasses, token: number): void {
  const { layers } = one.mixture;
  for (let layer = 0; layer < layers; layer++) {
    const guessed = layer + 1 < layers ? guess(token, layer + 1) : [];
    store.fill(layer, chosenBy(routing, token, layer), guessed);
  }
}

function* compute({ simulation, recorder, device }: ExpertPasses, name: string, seconds: number): Steps {
  if (seconds === 0) return;
  const start = simulation.now;
  yield hold(seconds);
  recorder.span({ device, lane: 'cpu', cause: 'memory', name, start, end: simulation.now, args: {} });
}

function* waitFor({ simulation, recorder, device, totals }: ExpertPasses, name: string, steps: Steps): Steps {
  const start = simulation.now;
  yield* steps;
  const end = simulation.now;
  totals.waited += end - start;
  recorder.span({ device, lane: 'cpu', cause: 'disk', name: `waits for ${name}`, start, end, args: {} });
}

/** Reads the next layer's experts as far as they are guessed. @param token the only one of a pass: of several nothing is guessed */
function guessNext({ one, store, guess }: ExpertPasses, token: number, layer: number): void {
  if (layer + 1 < one.mixture.layers) store.guess(layer + 1, guess(token, layer + 1));
}
