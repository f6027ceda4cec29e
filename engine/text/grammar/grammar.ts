import { atOnce, SLICE, type Slices } from '../slices.ts';
import { MOST_STATES, PLAIN_CHARACTERS, type State } from './automaton.ts';
import { addToken, hasToken, type TokenBytes, type TokenTree } from './token-bytes.ts';

/** Constraint on a text, byte by byte, and the tokens that may come next. Texts with the same grammar share it. */
export interface Grammar {
  readonly start: Situation;
  /** @throws GrammarError if that takes too long */
  after(situation: Situation, token: number): Situation;
  /**
   * A bit for each token that may come next, those that end the text among them where it may end.
   * @throws GrammarError if there is none, or finding them takes too long
   */
  allowed(situation: Situation): Uint32Array;
}

/** A text can't be held to its grammar. */
export class GrammarError extends Error {
  override readonly name = 'GrammarError';
}

/** A state, and the states to which the rules return in which it is: shared, so that each occurs once. */
interface Frame {
  readonly id: number;
  readonly state: State;
  readonly below: Frame | undefined;
  /** Items of a repeat so far. */
  readonly count: number;
  readonly above: Map<number, Frame>;
}

/** All places where a text may be in its grammar. */
export interface Situation {
  /** With a next byte. */
  readonly frames: readonly Frame[];
  readonly isEnd: boolean;
  readonly takesPlain: boolean;
  readonly takesControls: boolean;
  /** By byte: what follows, `null` if nothing does; `undefined` where it isn't known yet. */
  readonly next: (Situation | null | undefined)[];
  allowed: Uint32Array | undefined;
}

/**
 * Frames that are looked at for a token at most: some 0.03 s of work, for which all texts of a pass wait. Schemas of
 * usual size need a few thousand.
 */
const MOST_WORK = 2 ** 17;

/** Situations and bytes of sets that are remembered: a schema of usual size has a few hundred. */
const MOST_SITUATIONS = 2 ** 13;
const MOST_SET_BYTES = 2 ** 24;

/**
 * Simulates the automaton in all its possible places at once, as Thompson (1968) does with finite ones, and remembers
 * what it finds; places are stacks that share their lower parts. Tokens are tried along the tree of their bytes.
 * @throws GrammarError if nothing can be begun, so that no pass with other texts fails
 */
export function* createGrammar(entry: State, vocabulary: TokenBytes): Slices<Grammar> {
  let known = new Map<string, Situation>();
  let sets: Situation[] = [];
  let nextId = 0;
  let work = 0;
  let roots = new Map<number, Frame>();
  /** Frames that others may share. */
  let made: Frame[] = [];

  const frameOf = (state: State, below: Frame | undefined, count = 0): Frame => {
    const siblings = below?.above ?? roots;
    const key = state.id + MOST_STATES * count;
    let frame = siblings.get(key);
    if (frame === undefined) {
      frame = { id: nextId++, state, below, count, above: new Map() };
      siblings.set(key, frame);
      made.push(frame);
    }
    return frame;
  };
  /** The situation of frames, and of all in which they are without another byte. */
  function* situationOf(begin: readonly Frame[]): Slices<Situation> {
    const seen = new Set<Frame>();
    const open = [...begin];
    const frames: Frame[] = [];
    let [isEnd, takesPlain, takesControls] = [false, false, false];
    for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
      if (seen.has(frame)) continue;
      seen.add(frame);
      work += 1;
      if (seen.size % SLICE === 0) yield;
      if (work > MOST_WORK)
        throw new GrammarError(`the schema leaves too many ways to go on, more than ${MOST_WORK}; make it simpler`);
      const { state, below } = frame;
      takesPlain ||= state.takesPlain;
      takesControls ||= state.takesControls;
      if (state.bytes.length > 0) frames.push(frame);
      for (const other of state.others) open.push(frameOf(other, below));
      if (state.repeat !== undefined) {
        const { item, least, most, after, plainUntil } = state.repeat;
        takesPlain ||= plainUntil - frame.count >= PLAIN_CHARACTERS;
        if (frame.count >= least) open.push(frameOf(after, below));
        if (frame.count < most) open.push(frameOf(item, frameOf(state, below, frame.count + 1)));
      }
      if (state.begins !== undefined) open.push(frameOf(state.begins.state, below, state.begins.count));
      if (state.counted !== undefined) {
        const { steps, after } = state.counted;
        if (after !== undefined) open.push(frameOf(after, below));
        for (const { item, to, most } of steps)
          if (frame.count < most) open.push(frameOf(item, frameOf(to, below, frame.count + 1)));
      }
      if (state.call !== undefined) open.push(frameOf(state.call.rule, frameOf(state.call.then, below)));
      if (state.isEnd && below === undefined) isEnd = true;
      if (state.isEnd && below !== undefined) open.push(below);
    }
    return remembered(frames, { isEnd, takesPlain, takesControls });
  }
  const remembered = (
    frames: readonly Frame[],
    { isEnd, takesPlain, takesControls }: Pick<Situation, 'isEnd' | 'takesPlain' | 'takesControls'>,
  ): Situation => {
    const ids = Float64Array.from(frames, ({ id }) => id).sort();
    const key = `${ids.join(',')}${isEnd ? '.' : ''}${takesPlain ? '"' : ''}${takesControls ? '<' : ''}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size === MOST_SITUATIONS) forget();
    const situation: Situation = { frames, isEnd, takesPlain, takesControls, next: new Array(256), allowed: undefined };
    known.set(key, situation);
    return situation;
  };
  /**
   * A frame with the same next token, whose counts are those of others: where a token can't exhaust a count, it is 0.
   */
  const uncounted = (frame: Frame): Frame => {
    const { state, count } = frame;
    const below = frame.below && uncounted(frame.below);
    const isFar = state.counted !== undefined && state.counted.free - count > vocabulary.depth;
    return below === frame.below && !isFar ? frame : frameOf(state, below, isFar ? 0 : count);
  };
  /** Situations that are in use keep their frames; new ones are others, with other numbers. */
  const forget = (): void => {
    for (const one of known.values()) one.next.fill(undefined);
    for (const frame of made) frame.above.clear();
    [known, roots, made] = [new Map(), new Map(), []];
    forgetSets();
  };
  const forgetSets = (): void => {
    for (const one of sets) one.allowed = undefined;
    sets = [];
  };
  function* step(situation: Situation, byte: number): Slices<Situation | null> {
    const found: Frame[] = [];
    for (const { state, below } of situation.frames)
      for (const { low, high, to } of state.bytes) if (low <= byte && byte <= high) found.push(frameOf(to, below));
    work += situation.frames.length;
    const next = found.length === 0 ? null : yield* situationOf(found);
    situation.next[byte] = next;
    return next;
  }
  const path: Situation[] = new Array(vocabulary.depth + 1);
  /** Adds the tokens from a node on, as far as it is known what follows. @returns the node to go on with */
  const addKnown = (tree: TokenTree, from: number, set: Uint32Array): number => {
    const { nodes, bytes, depths, ends, firsts, tokens } = tree;
    let node = from;
    for (let left = SLICE; left > 0 && node < nodes; left--) {
      const depth = depths[node] as number;
      const after = (path[depth] as Situation).next[bytes[node] as number];
      if (after === undefined) break;
      if (after === null) {
        node = ends[node] as number;
        continue;
      }
      path[depth + 1] = after;
      const end = firsts[node + 1] as number;
      for (let index = firsts[node] as number; index < end; index++) addToken(set, tokens[index] as number);
      node += 1;
    }
    return node;
  };
  /** Adds the tokens of a tree that may follow. */
  function* addTokens(tree: TokenTree, begin: Situation, set: Uint32Array): Slices<void> {
    path[0] = begin;
    for (let node = addKnown(tree, 0, set); node < tree.nodes; node = addKnown(tree, node, set)) {
      const before = path[tree.depths[node] as number] as Situation;
      const byte = tree.bytes[node] as number;
      if (before.next[byte] === undefined) yield* step(before, byte);
      yield;
    }
  }
  function* find(situation: Situation): Slices<Uint32Array> {
    work = 0;
    const alike = remembered(situation.frames.map(uncounted), situation);
    if (alike !== situation) {
      const set = alike.allowed ?? (yield* find(alike));
      situation.allowed = set;
      sets.push(situation);
      return set;
    }
    const { takesPlain, takesControls, isEnd } = situation;
    const set = takesPlain ? vocabulary.plain.slice() : new Uint32Array(vocabulary.words);
    yield* addTokens(takesPlain ? vocabulary.rest : vocabulary.all, situation, set);
    for (const [isAllowed, more] of [
      [takesControls, vocabulary.controls],
      [isEnd, vocabulary.stops],
    ] as const)
      if (isAllowed)
        for (let word = 0; word < set.length; word++) set[word] = (set[word] as number) | (more[word] as number);
    if (set.every((word) => word === 0))
      throw new GrammarError('the vocabulary has no token with which the text could go on as its schema asks');
    if (4 * (sets.length + 1) * vocabulary.words > MOST_SET_BYTES) forgetSets();
    situation.allowed = set;
    sets.push(situation);
    return set;
  }

  const start = yield* situationOf([frameOf(entry, undefined)]);
  yield* find(start);
  return {
    start,
    after(situation, token) {
      work = 0;
      if (hasToken(vocabulary.stops, token)) return situation;
      let now = situation;
      for (const byte of vocabulary.bytesOf(token)) {
        const next = now.next[byte] === undefined ? atOnce(step(now, byte)) : now.next[byte];
        if (!next) throw new GrammarError(`token ${token} is not allowed here`);
        now = next;
      }
      return now;
    },
    allowed: (situation) => situation.allowed ?? atOnce(find(situation)),
  };
}
