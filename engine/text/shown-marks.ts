import type { Reasoning } from './reasoning/reasoning.ts';
import type { Tokenizer } from './tokenizer.ts';
import { CALL_MARKS, CALL_PART_MARKS } from './tools/read-calls.ts';

/**
 * A tokenizer with which texts show the control tokens around thoughts and calls, so that these can be found. Other
 * control tokens have no bytes.
 */
export function withShownMarks(tokenizer: Tokenizer, reasoning: Reasoning | undefined): Tokenizer {
  const { begin = '', end = '', leads = [] } = reasoning ?? {};
  const marks = [begin, end, ...leads, ...CALL_MARKS, ...CALL_PART_MARKS].join('\0');
  const shown = new Map<number, Uint8Array>();
  for (let token = 0; token < tokenizer.size; token++) {
    if (tokenizer.stops.has(token) || tokenizer.bytesOf(token).length > 0) continue;
    const spelling = tokenizer.spell(token);
    if (spelling.length > 1 && marks.includes(spelling)) shown.set(token, new TextEncoder().encode(spelling));
  }
  return { ...tokenizer, bytesOf: (token) => shown.get(token) ?? tokenizer.bytesOf(token) };
}
