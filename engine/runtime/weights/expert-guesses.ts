import { createGuesser } from '../../experts/draw-guesses.ts';
import type { Lookahead } from '../../experts/experts-policy.ts';
import { GUESSES_SEED } from '../../experts/hit-rates.ts';
import type { Routing } from '../../experts/routing.ts';
import { randomStream } from '../../input/random-stream.ts';
import type { RouteOperation } from '../../kernels/expert-operations.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MultiplyOperation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import { describe } from '../../model/block/describe.ts';
import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import type { LayerWeights } from './transformer-weights.ts';

/** A layer's choice for one token. */
export interface LayerChoice {
  /** The index of the layer. */
  readonly layer: number;
  /** Tokens that went through the layer before. */
  readonly token: number;
  /** Different experts, the best first. */
  readonly chosen: readonly number[];
  /** Input of the layer's router. */
  readonly input: Vector; // [hidden]
}

/** Guesses the experts of the next layer that has any. */
export type GuessExperts = (
  choice: LayerChoice,
) => { readonly layer: number; readonly experts: readonly number[] } | undefined;

export interface GuessCase {
  readonly kernels: Pick<Kernels, 'vector' | 'run'>;
  readonly lookahead: Lookahead;
  /** Layers with experts, in order. */
  readonly layers: readonly number[];
  readonly weightsOf: (layer: number) => LayerWeights;
  /** Experts that tokens use in place of routers' choices. No router guesses them; createGuesser draws guesses. */
  readonly routing?: Routing | undefined;
}

/**
 * Nothing is guessed across the border of two tokens: the first layer's experts would wait for the output.
 * @returns `undefined` where nothing is read ahead
 */
export function createGuesses(guess: GuessCase): GuessExperts | undefined {
  switch (guess.lookahead.kind) {
    case 'none':
      return undefined;
    case 'previous-token':
      return previousToken(guess.layers);
    case 'next-router':
      return guess.routing === undefined ? nextRouter(guess, guess.lookahead.ranks) : drawn(guess, guess.routing);
  }
}

/** Guesses the experts that the token before used in the next layer. */
function previousToken(layers: readonly number[]): GuessExperts {
  const last = new Map<number, readonly number[]>();
  return ({ layer, chosen }) => {
    last.set(layer, chosen);
    const next = layers[layers.indexOf(layer) + 1];
    const experts = next === undefined ? undefined : last.get(next);
    return next === undefined || experts === undefined ? undefined : { layer: next, experts };
  };
}

/** Guesses of a routing, as predictions and simulations draw them. */
function drawn({ layers, lookahead }: GuessCase, routing: Routing): GuessExperts {
  const guess = createGuesser({ lookahead, routing }, randomStream(GUESSES_SEED, 'guesses'));
  return ({ layer, token }) => {
    const ordinal = layers.indexOf(layer) + 1;
    const next = layers[ordinal];
    return next === undefined ? undefined : { layer: next, experts: guess(token, ordinal) };
  };
}

/** Guesses the first `ranks` choices of the next layer's router from this layer's input. */
function nextRouter({ kernels, layers, weightsOf }: GuessCase, ranks: number): GuessExperts {
  const routers = new Map(layers.map((layer) => [layer, routerOf(kernels, weightsOf(layer))]));
  return ({ layer, input }) => {
    const next = layers[layers.indexOf(layer) + 1];
    const choose = next === undefined ? undefined : routers.get(next);
    return next === undefined || choose === undefined
      ? undefined
      : { layer: next, experts: choose(input).slice(0, ranks) };
  };
}

/** A layer's router, on any input: its choices, the best first. */
function routerOf(
  kernels: GuessCase['kernels'],
  { kind, products, vectors }: LayerWeights,
): ((input: Vector) => number[]) | undefined {
  const { steps } = describe(kind, products.ffn_gate_inp?.matrix.columns ?? 0);
  const step = steps.find((one) => one.kind === 'route');
  const linear = products.ffn_gate_inp;
  if (step?.kind !== 'route' || linear === undefined || kind.feedForward?.kind !== 'experts') return undefined;
  const { router } = kind.feedForward;
  const logits = kernels.vector(router.experts);
  const y = kernels.vector(router.used * ROUTE_NUMBERS);
  const route: RouteOperation = {
    ...{ kind: 'route', x: logits, y, router },
    ...{ bias: step.bias && vectors[step.bias], scales: step.scales && vectors[step.scales] },
  };
  return (x) => {
    const multiply: MultiplyOperation = { kind: 'multiply', ...linear, x, y: logits };
    kernels.run([multiply, route]);
    return Array.from({ length: router.used }, (_, rank) => y.values[rank * ROUTE_NUMBERS] as number);
  };
}
