import type { Model } from '../../model/model.ts';
import type { TokenRange } from './forward.ts';

/**
 * The tokens of a work whose logits are wanted. `hidden`: instead of logits the hidden states of all its tokens, after
 * the last layer and the output's norm, which logits are a product with.
 */
export type WantedRows = 'none' | 'last' | 'all' | 'hidden';

/** The work of a pass, as far as it says what is wanted. */
type Wanting = readonly { readonly tokens: readonly number[]; readonly logits: WantedRows }[];

type Widths = Pick<Model, 'vocabularySize' | 'hiddenSize'>;

/** The tokens whose logits are wanted, as ranges of the pass. */
export function wantedTokens(work: Wanting): TokenRange[] {
  return rangesOf(work, ({ tokens, logits }) => (logits === 'last' ? 1 : logits === 'all' ? tokens.length : 0));
}

/** The tokens whose hidden states are wanted, as ranges of the pass. */
export function hiddenTokens(work: Wanting): TokenRange[] {
  return rangesOf(work, ({ tokens, logits }) => (logits === 'hidden' ? tokens.length : 0));
}

/** The tokens of ranges. */
export function rowsOf(ranges: readonly TokenRange[]): number {
  return ranges.reduce((sum, { count }) => sum + count, 0);
}

/** The values that a pass gives for a work. */
export function valuesOf({ vocabularySize, hiddenSize }: Widths, { tokens, logits }: Wanting[number]): number {
  switch (logits) {
    case 'none':
      return 0;
    case 'last':
      return vocabularySize;
    case 'all':
      return tokens.length * vocabularySize;
    case 'hidden':
      return tokens.length * hiddenSize;
  }
}

/** Values one after the other; of one part it is that part, not a copy. */
export function joined(parts: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(0)] = parts;
  if (parts.length <= 1) return first;
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Logits and hidden states, each in the order of the work, as one result: a copy only where there are both. */
export function inOrder(
  model: Widths,
  work: Wanting,
  { logits, hidden }: { readonly logits: Float32Array; readonly hidden: Float32Array },
): Float32Array {
  if (hidden.length === 0) return logits;
  if (logits.length === 0) return hidden;
  const all = new Float32Array(logits.length + hidden.length);
  const taken = { logits: 0, hidden: 0 };
  for (const one of work) {
    const [kind, source] = one.logits === 'hidden' ? (['hidden', hidden] as const) : (['logits', logits] as const);
    const length = valuesOf(model, one);
    all.set(source.subarray(taken[kind], taken[kind] + length), taken.logits + taken.hidden);
    taken[kind] += length;
  }
  return all;
}

/** The last tokens of each work, as many as are wanted of it. */
function rangesOf(work: Wanting, wanted: (one: Wanting[number]) => number): TokenRange[] {
  const ranges: { first: number; count: number }[] = [];
  let end = 0;
  for (const one of work) {
    end += one.tokens.length;
    const count = wanted(one);
    const last = ranges.at(-1);
    if (count === 0) continue;
    if (last !== undefined && last.first + last.count === end - count) last.count += count;
    else ranges.push({ first: end - count, count });
  }
  return ranges;
}
