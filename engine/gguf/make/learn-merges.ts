import { byteAlphabet } from './byte-alphabet.ts';

/** How Llama 3 cuts text into words before merging; merges never cross their borders (llama.cpp's "llama-bpe"). */
const WORDS =
  /'(?:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/giu;

/** Two tokens that become one. */
export type Merge = readonly [left: string, right: string];

/**
 * Byte-pair encoding (Sennrich et al. 2016) on bytes: the pair of neighbours that occurs most often becomes one token,
 * again and again, until `most` merges are found or no pair occurs twice. Ties go to the pair that sorts first.
 */
export function learnMerges(text: string, most: number): Merge[] {
  const alphabet = byteAlphabet();
  const encoder = new TextEncoder();
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(WORDS)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts].map(([word, count]) => ({
    tokens: Array.from(encoder.encode(word), (byte) => alphabet[byte] as string),
    count,
  }));
  const merges: Merge[] = [];
  while (merges.length < most) {
    const best = commonestPair(words);
    if (best === undefined) break;
    merges.push(best);
    for (const word of words) word.tokens = merged(word.tokens, best);
  }
  return merges;
}

interface Word {
  tokens: string[];
  readonly count: number;
}

function commonestPair(words: readonly Word[]): Merge | undefined {
  const pairs = new Map<string, number>();
  for (const { tokens, count } of words) {
    for (let index = 1; index < tokens.length; index++) {
      const pair = `${tokens[index - 1]} ${tokens[index]}`;
      pairs.set(pair, (pairs.get(pair) ?? 0) + count);
    }
  }
  let best: string | undefined;
  let most = 1;
  for (const [pair, count] of pairs) {
    if (count > most || (count === most && best !== undefined && pair < best)) [best, most] = [pair, count];
  }
  const [left, right] = best?.split(' ') ?? [];
  return left === undefined || right === undefined ? undefined : [left, right];
}

function merged(tokens: readonly string[], [left, right]: Merge): string[] {
  const result: string[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as string;
    const joins = token === left && tokens[index + 1] === right;
    result.push(joins ? left + right : token);
    if (joins) index++;
  }
  return result;
}
