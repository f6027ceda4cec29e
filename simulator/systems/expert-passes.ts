import type { ExpertsCase, PassSeconds } from '../../engine/cost/experts/experts-case.ts';
import type { Guesser } from '../../engine/experts/draw-guesses.ts';
import { expertsOf, type PassTokens, type Routing, unionOf } from '../../engine/experts/routing.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { ExpertStore } from '../hardware/expert-store.ts';

/** Inputs and totals of a machine's passes through a mixture's layers. */
export interface ExpertPasses {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  /** The device's name in traces. */
  readonly device: string;
  readonly one: ExpertsCase;
  readonly store: ExpertStore;
  /** Which experts tokens use; where tokens are more, it begins anew. */
  readonly routing: Routing;
  readonly guess: Guesser;
  /** Seconds for which the processor has waited. */
  readonly totals: { waited: number };
}

/** One pass of tokens, which share the experts that any of them uses. */
export interface ExpertPass {
  readonly tokens: PassTokens;
  /** The first of each text, counted from its begin (unionOf). */
  readonly from: number;
  readonly seconds: PassSeconds;
}

/** Runs a pass through all layers with experts, and what else a token computes. */
export function* runExpertPass(passes: ExpertPasses, pass: ExpertPass): Steps {
  const { one, store } = passes;
  const { layers } = one.mixture;
  for (let layer = 0; layer < layers; layer++) yield* runExpertLayer(passes, pass, layer);
  yield* store.useDense(layers);
  yield* compute(passes, 'output and other layers', pass.seconds.other);
}

/**
 * A layer: what every token uses, up to the router; then the experts that it has chosen. What is missing is read, and guesses
 * for the next layer behind it. With hits first the processor multiplies what a single token needs and is there meanwhile, and
 * the others as they come; those of several tokens are multiplied together.
 */
export function* runExpertLayer(passes: ExpertPasses, pass: ExpertPass, layer: number): Steps {
  const { one, store } = passes;
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
      for (const arrive of needed.arrivals) yield* waitFor(passes, `experts of ${name}`, arrive());
      yield* compute(passes, `${group.length} experts of ${name}`, group.length * seconds.expert);
      continue;
    }
    if (needed.held > 0) yield* compute(passes, `${needed.held} experts of ${name}`, needed.held * seconds.expert);
    for (const arrive of needed.arrivals) {
      yield* waitFor(passes, `experts of ${name}`, arrive());
      yield* compute(passes, `an expert of ${name}`, seconds.expert);
    }
  }
}

/** Fills caches with the experts that a decoded token would leave in them, in no time. */
export function fillWithToken({ one, store, routing, guess }: ExpertPasses, token: number): void {
  const { layers } = one.mixture;
  for (let layer = 0; layer < layers; layer++) {
    const guessed = layer + 1 < layers ? guess(token, layer + 1) : [];
    store.fill(layer, [...expertsOf(routing, token, layer)], guessed);
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
