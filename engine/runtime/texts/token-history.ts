/**
 * The tokens of a text, of which its layers may know only the first: recurrent ones go back to a state that is remembered,
 * and need what lies between again (ContextCache.rewind).
 */
export interface TokenHistory {
  /** Tokens of the text. */
  readonly position: number;
  /** Tokens that layers know. */
  readonly known: number;
  /** The next tokens that layers need again, at most this many. */
  missing(most: number): readonly number[];
  /** Adds tokens that were evaluated at `known`. */
  evaluated(tokens: readonly number[]): void;
  /** A pass at `known` failed, which may have changed states. @param rewind of what layers keep (ContextCache) */
  failed(rewind: (position: number) => number): void;
  /** @param known tokens that layers still know, at most `position` */
  rewind(position: number, known: number): void;
}

/** @param begun tokens that layers know already, and that are never needed again */
export function createTokenHistory(begun = 0): TokenHistory {
  const tokens = new Array<number>(begun).fill(-1);
  let known = begun;
  return {
    get position() {
      return tokens.length;
    },
    get known() {
      return known;
    },
    missing: (most) => tokens.slice(known, known + most),
    evaluated(own) {
      for (const token of own) {
        if (known === tokens.length) tokens.push(token);
        known++;
      }
    },
    failed(rewind) {
      known = rewind(known);
    },
    rewind(position, reached) {
      tokens.length = position;
      known = reached;
    },
  };
}
