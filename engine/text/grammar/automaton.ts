import { InputError } from '../../input/input-error.ts';
import type { CountWork } from './short-work.ts';

/**
 * A state of a pushdown automaton over bytes. It is a recursive transition network (Woods 1970): a state may go on by a
 * byte, without one, or by calling a rule, which comes back where it ends.
 */
export interface State {
  readonly id: number;
  readonly bytes: readonly ByteEdge[];
  /** States in which it also is. */
  readonly others: readonly State[];
  readonly call: { readonly rule: State; readonly then: State } | undefined;
  /** Items that follow each other, counted where the automaton is simulated. */
  readonly repeat: Repeat | undefined;
  /** Items that lead to other states, counted like those of a repeat. */
  readonly counted: CountedSteps | undefined;
  /** It is also in a state with counted steps, after this many items. */
  readonly begins: { readonly state: State; readonly count: number } | undefined;
  /** Whether the rule ends here, or the whole text. */
  readonly isEnd: boolean;
  /**
   * Whether any text of up to PLAIN_CHARACTERS plain characters may follow: without quotes, backslashes, control
   * characters, and characters beyond the basic multilingual plane.
   */
  readonly takesPlain: boolean;
  /** Whether tokens without bytes may follow, such as a model's control tokens. */
  readonly takesControls: boolean;
}

export interface Repeat {
  /** A rule, which takes a byte at least. */
  readonly item: State;
  readonly least: number;
  readonly most: number;
  readonly after: State;
  /** Up to how many items each of the next characters may be a plain one (State.takesPlain). */
  readonly plainUntil: number;
}

/** The count goes with the items from state to state. */
export interface CountedSteps {
  readonly steps: readonly {
    /** A rule, which takes a byte at least. */
    readonly item: State;
    /** The state after it, which has counted steps too. */
    readonly to: State;
    /** At most this many items, including this one, may come before `to`. */
    readonly most: number;
  }[];
  /** The state that may follow without a further item; `undefined`: none. */
  readonly after: State | undefined;
  /** Items up to which no step is barred, here and in all states to which steps lead. */
  readonly free: number;
}

/** Bytes from `low` to `high`. */
export interface ByteEdge {
  readonly low: number;
  readonly high: number;
  readonly to: State;
}

/** See State. */
export const PLAIN_CHARACTERS = 16;

/**
 * Most states, with other steps of work of a fraction of a microsecond each, some 15 ms in all: a schema of 50 kB has
 * fewer, unless it counts far. A state takes about 200 bytes.
 */
export const MOST_STATES = 2 ** 15;

const ENCODER = new TextEncoder();
/** Up to here a character is a byte. */
const LAST_ASCII = 0x7f;

const UNCOUNTED = { counted: undefined, begins: undefined };

/** A state while it is made. */
type Draft = { -readonly [Key in keyof State]: State[Key] } & { bytes: ByteEdge[]; others: State[] };

/** Makes the states of an automaton, each from those that follow it. */
export interface Automaton {
  /** A state that is filled in later, by `add`: for loops and rules that call themselves. */
  open(): State;
  /** Lets a state be in another one as well. */
  add(state: State, other: State): void;
  /** A state where a rule or the text ends. */
  end(): State;
  /** The next byte is one of these, as `[low, high, next state]`. */
  byte(edges: readonly (readonly [low: number, high: number, to: State])[], marks?: StateMarks): State;
  /** The first of these bytes comes next. */
  bytes(bytes: Uint8Array | string, then: State): State;
  /** One of these texts comes next; those that begin alike share states. */
  words(words: readonly string[], then: State): State;
  /** In all of these states. */
  either(states: readonly State[]): State;
  call(rule: State, then: State): State;
  repeat(repeat: Repeat): State;
  /** Gives an open state its counted steps. */
  count(state: State, counted: CountedSteps): void;
  /** A state with counted steps, after this many items. */
  counting(state: State, count: number): State;
  /** Counts steps of other work on the same schema. */
  spend(steps: number): void;
  readonly countWork: CountWork;
}

export type StateMarks = Partial<Pick<State, 'takesPlain' | 'takesControls'>>;

/**
 * @param countWork called with each state and all other steps
 * @throws InputError from its functions beyond MOST_STATES
 */
export function createAutomaton(countWork: CountWork = () => {}): Automaton {
  let [count, spent] = [0, 0];
  const spend = (steps: number): void => {
    countWork(steps);
    spent += steps;
    if (count + spent < MOST_STATES) return;
    throw new InputError('schema', `needs more than ${MOST_STATES} states and steps; make it smaller`);
  };
  // Written out, since tens of thousands of states are made while others wait.
  const made = (
    edges: ByteEdge[],
    others: State[],
    call?: State['call'],
    marks: StateMarks = {},
    repeat?: State['repeat'],
  ): Draft => {
    countWork(1);
    spend(0);
    const { takesPlain = false, takesControls = false } = marks;
    return {
      id: count++,
      bytes: edges,
      others,
      call,
      repeat,
      ...UNCOUNTED,
      isEnd: false,
      takesPlain,
      takesControls,
    };
  };
  const bytes = (list: Uint8Array, then: State): State =>
    list.reduceRight((next, byte) => made([{ low: byte, high: byte, to: next }], []), then);
  const text = (word: string, then: State): State => {
    for (let at = 0; at < word.length; at++)
      if (word.charCodeAt(at) > LAST_ASCII) return bytes(ENCODER.encode(word), then);
    let next = then;
    for (let at = word.length - 1; at >= 0; at--) {
      const byte = word.charCodeAt(at);
      next = made([{ low: byte, high: byte, to: next }], []);
    }
    return next;
  };
  const either = (states: readonly State[]): State =>
    states.length === 1 ? (states[0] as State) : made([], [...states]);
  /** One of several byte strings that are equal up to `from`. */
  const branches = (words: readonly Uint8Array[], from: number, then: State): State => {
    const [first = new Uint8Array()] = words;
    let end = from;
    while (end < first.length && words.every((word) => word[end] === first[end])) end++;
    const byNext = new Map<number | undefined, Uint8Array[]>();
    for (const word of words) {
      const own = byNext.get(word[end]) ?? [];
      byNext.set(word[end], own);
      own.push(word);
    }
    const states = [...byNext].map(([byte, own]) => (byte === undefined ? then : branches(own, end, then)));
    return bytes(first.subarray(from, end), either(states));
  };
  return {
    open: () => made([], []),
    add: (state, other) => void (state as Draft).others.push(other),
    end: () => Object.assign(made([], []), { isEnd: true }),
    byte: (edges, marks) =>
      made(
        edges.map(([low, high, to]) => ({ low, high, to })),
        [],
        undefined,
        marks,
      ),
    bytes: (list, then) => (typeof list === 'string' ? text(list, then) : bytes(list, then)),
    words: (words, then) => {
      const [only] = words;
      if (only !== undefined && words.length === 1) return text(only, then);
      return branches(
        words.map((word) => ENCODER.encode(word)),
        0,
        then,
      );
    },
    either,
    call: (rule, then) => made([], [], { rule, then }),
    repeat: (repeat) => made([], [], undefined, {}, repeat),
    count: (state, counted) => void Object.assign(state, { counted }),
    counting: (state, items) => Object.assign(made([], []), { begins: { state, count: items } }),
    spend,
    countWork,
  };
}
