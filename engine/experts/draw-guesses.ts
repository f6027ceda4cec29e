import type { RandomStream } from '../input/random-stream.ts';
import type { Lookahead } from './experts-policy.ts';
import { chosenBy, expertsOf, type Routing } from './routing.ts';

/**
 * How often guesses of the next layer's router, on this layer's state, are right, by rank from first to last of the
 * experts that it chooses: published for Kimi-K3 (waste, §34: .922 .802 .643 .533 .394 .279 at ranks 1, 4, 7, 10, 13 and 16 of
 * 16). Other models are guessed better: 73 to 89 % of all were right (GLM-5.2, Qwen3).
 */
export const USUAL_PRECISION: readonly number[] = [0.922, 0.802, 0.643, 0.533, 0.394, 0.279];

/** The precision of each rank of `used`, where it is known for some ranks, evenly spaced from first to last. */
export function precisionByRank(known: readonly number[], used: number): number[] {
  return Array.from({ length: used }, (_, rank) => {
    const at = used === 1 ? 0 : (rank * (known.length - 1)) / (used - 1);
    const [low, share] = [Math.floor(at), at % 1];
    const one = known[low] as number;
    return one + share * ((known[low + 1] ?? one) - one);
  });
}

export interface GuessesCase {
  readonly lookahead: Lookahead;
  /** How often the guess of each rank is right, for some ranks evenly spaced from first to last. */
  readonly precision?: readonly number[] | undefined;
  readonly routing: Routing;
}

/** Guesses which experts a token will use in a layer. */
export type Guesser = (token: number, layer: number) => number[];

/**
 * Guesses by a policy's lookahead. A guess of `next-router` is right with its rank's precision, whether its expert is held or
 * not; a wrong one is any other expert with equal chances. Slots of the routing count as ranks.
 */
export function createGuesser(
  { lookahead, precision = USUAL_PRECISION, routing }: GuessesCase,
  random: RandomStream,
): Guesser {
  const { tokens, experts, used } = routing;
  switch (lookahead.kind) {
    case 'none':
      return () => [];
    case 'previous-token':
      return (token, layer) => (token === 0 ? [] : chosenBy(routing, (token - 1) % tokens, layer));
    case 'next-router': {
      const ranks = precisionByRank(precision, used).slice(0, lookahead.ranks);
      return (token, layer) => {
        const right = expertsOf(routing, token % tokens, layer);
        const guesses = new Set<number>();
        for (const [rank, share] of ranks.entries())
          if (random.next() < share || used === experts) guesses.add(right[rank] as number);
          else guesses.add(drawOther(right, guesses, { experts, random }));
        return [...guesses];
      };
    }
  }
}

/** An expert that isn't among the right ones, nor among the guesses if there is another. */
function drawOther(
  right: Uint16Array,
  guesses: ReadonlySet<number>,
  { experts, random }: { readonly experts: number; readonly random: RandomStream },
): number {
  for (;;) {
    const drawn = random.integer(0, experts - 1);
    if (!right.includes(drawn) && (!guesses.has(drawn) || guesses.size >= experts - right.length)) return drawn;
  }
}
