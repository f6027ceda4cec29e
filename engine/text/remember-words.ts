import { atOnce, SLICE, type Slices } from './slices.ts';

/** Most words whose tokens are kept: texts repeat most of their words. */
const MOST_WORDS = 2 ** 16;
/** Longer words are rare and not worth the memory. */
const LONGEST_WORD = 64;

/** Adds the tokens of a word to those before. */
export type AddWord = (word: string, tokens: number[]) => Slices<void>;

/** `add`, of which the tokens of words are kept for the next time. What it returns is left to do, for a long word. */
export function rememberWords(add: AddWord): (word: string, tokens: number[]) => Slices<void> | undefined {
  const known = new Map<string, readonly number[]>();
  return (word, tokens) => {
    if (word.length > LONGEST_WORD) return add(word, tokens);
    let own = known.get(word);
    if (own === undefined) {
      const found: number[] = [];
      atOnce(add(word, found));
      own = found;
      if (known.size === MOST_WORDS) known.clear();
      known.set(word, own);
    }
    tokens.push(...own);
    return undefined;
  };
}

/** Adds the tokens of each word, in slices. */
export function* addWords(
  words: Iterable<string>,
  add: ReturnType<typeof rememberWords>,
  tokens: number[],
): Slices<void> {
  let read = 0;
  for (const word of words) {
    const rest = add(word, tokens);
    if (rest !== undefined) yield* rest;
    read += word.length;
    if (read < SLICE) continue;
    read = 0;
    yield;
  }
}
