/** Hidden states of a text's tokens after the last layer and the output's norm, by position. */
export interface StateHistory {
  /** Positions below this have states. */
  readonly known: number;
  /** The state of a position, [hidden]: zeros where none was added. */
  of(position: number): Float32Array;
  /** Adds those of consecutive tokens, the first at `position`: [tokens][hidden]. */
  add(position: number, states: Float32Array): void;
  /** Forgets the tokens from `position` on. */
  rewind(position: number): void;
}

/** Memory is taken as the text grows. */
export function createStateHistory(hiddenSize: number, contextLength: number): StateHistory {
  const all = new Float32Array(hiddenSize * contextLength);
  let known = 0;
  return {
    get known() {
      return known;
    },
    of: (position) => all.subarray(position * hiddenSize, (position + 1) * hiddenSize),
    add(position, states) {
      if (position > known) all.fill(0, known * hiddenSize, position * hiddenSize);
      all.set(states, position * hiddenSize);
      known = Math.max(known, position + states.length / hiddenSize);
    },
    rewind(position) {
      known = Math.min(known, position);
    },
  };
}
