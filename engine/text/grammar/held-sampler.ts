import type { Sampler } from '../sampling/sampler.ts';
import type { Grammar } from './grammar.ts';

/** A sampler for one text, which a grammar holds. */
export interface HeldSampler extends Sampler {
  /** Another one that goes on from here, for a draft of what follows; it leaves this one where it is. */
  ahead(sampler: Sampler): HeldSampler;
}

/**
 * A sampler that chooses among the tokens that a grammar allows, for one text. The others are no candidates: their
 * logits become NaN before penalties and before anything is selected or drawn, so it needs all logits.
 * @throws GrammarError from the sampler
 */
export function heldSampler(sampler: Sampler, grammar: Grammar): HeldSampler {
  return heldFrom(sampler, grammar, grammar.start);
}

function heldFrom(sampler: Sampler, grammar: Grammar, start: Grammar['start']): HeldSampler {
  let situation = start;
  const held = (logits: Float32Array, history: readonly number[]): number => {
    const token = sampler(onlyAllowed(logits, grammar.allowed(situation)), history);
    situation = grammar.after(situation, token);
    return token;
  };
  return Object.assign(held, { ahead: (own: Sampler) => heldFrom(own, grammar, situation) });
}

/** The logits of the tokens whose bits are set; of others NaN, also beyond the vocabulary. */
export function onlyAllowed(logits: Float32Array, allowed: Uint32Array): Float32Array {
  // The smaller part is written: in the middle of a string most tokens are allowed, elsewhere few.
  const isMost = allowed.reduce((sum, word) => sum + bitsOf(word), 0) > logits.length / 2;
  const held = isMost ? logits.slice() : new Float32Array(logits.length).fill(Number.NaN);
  if (isMost) held.fill(Number.NaN, 32 * allowed.length);
  for (let index = 0; index < allowed.length; index++) {
    const word = allowed[index] as number;
    for (let bits = isMost ? ~word : word; bits !== 0; bits &= bits - 1) {
      const token = 32 * index + 31 - Math.clz32(bits & -bits);
      held[token] = isMost ? Number.NaN : (logits[token] as number);
    }
  }
  return held;
}

/** The number of bits that are set. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
