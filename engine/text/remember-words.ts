/** Most words whose tokens are kept: texts repeat most of their words. */
const MOST_WORDS = 2 ** 16;
/** Longer words are rare and not worth the memory. */
const LONGEST_WORD = 64;

/** `segment`, which finds the tokens of a word, and keeps them for the next time. */
export function rememberWords(segment: (word: string) => readonly number[]): (word: string) => readonly number[] {
  const known = new Map<string, readonly number[]>();
  return (word) => {
    let own = known.get(word);
    if (own === undefined) {
      own = segment(word);
      if (known.size === MOST_WORDS) known.clear();
      if (word.length <= LONGEST_WORD) known.set(word, own);
    }
    return own;
  };
}
