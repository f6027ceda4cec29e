/** Tokens that followed where a text's last tokens occurred before. */
export interface Looked {
  readonly tokens: readonly number[];
  /** Tokens at the end of the text that occurred there. */
  readonly matched: number;
}

/** Finds a text's last tokens earlier in it (prompt lookup decoding, Saxena 2023). */
export interface PromptLookup {
  /**
   * The continuation of the newest occurrence of the longest run of last tokens. A continuation that reaches the text's
   * end goes on with itself: what repeats is expected to repeat.
   * @param text the text of the previous call, with more tokens at its end
   * @returns `most` tokens; none without an earlier occurrence
   */
  find(text: readonly number[], most: number): Looked;
}

/** A single token occurs too often to say what follows. */
const SHORTEST = 2;

/** @param longest tokens at the end of the text that are looked for at most; from 2 on */
export function createPromptLookup(longest: number): PromptLookup {
  if (!(Number.isInteger(longest) && longest >= SHORTEST))
    throw new RangeError(`runs of ${longest} tokens; give a whole number from ${SHORTEST} on`);
  /** By length from SHORTEST on: where the token after a run's newest occurrence is. */
  const following = Array.from({ length: longest - SHORTEST + 1 }, () => new Map<string, number>());
  let indexed = 0;

  /** Indexes the runs that end before the text's last token: the last ones have no continuation. */
  const index = (text: readonly number[]): void => {
    for (; indexed + 1 < text.length; indexed++)
      for (const [extra, runs] of following.entries()) {
        const first = indexed + 1 - (SHORTEST + extra);
        if (first >= 0) runs.set(runOf(text, first, indexed + 1), indexed + 1);
      }
  };

  return {
    find(text, most) {
      index(text);
      for (let length = Math.min(longest, text.length - 1); length >= SHORTEST; length--) {
        const from = following[length - SHORTEST]?.get(runOf(text, text.length - length, text.length));
        if (from === undefined) continue;
        const period = text.length - from;
        const tokens = Array.from({ length: most }, (_, ahead) => text[from + (ahead % period)] as number);
        return { tokens, matched: length };
      }
      return { tokens: [], matched: 0 };
    },
  };
}

function runOf(text: readonly number[], from: number, to: number): string {
  let run = '';
  for (let at = from; at < to; at++) run += `${text[at]},`;
  return run;
}
