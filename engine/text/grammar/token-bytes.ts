import { SLICE, type Slices } from '../slices.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { PLAIN_CHARACTERS } from './automaton.ts';

/** The tokens of a vocabulary by their bytes, as a tree in which tokens that begin alike share a path. */
export interface TokenTree {
  /** Nodes in depth-first order, the root left out. */
  readonly nodes: number;
  /** By node: the byte that leads to it, its depth (from 0 on), and the node after those below it. */
  readonly bytes: Uint8Array;
  readonly depths: Uint16Array;
  readonly ends: Int32Array;
  /** By node: where its tokens begin in `tokens`; those of the last end at its end. */
  readonly firsts: Int32Array;
  readonly tokens: Int32Array;
}

/** Vocabulary as constraints on a text need it. Sets of tokens have a bit for each, in words of 32. */
export interface TokenBytes {
  readonly size: number;
  bytesOf(token: number): Uint8Array;
  readonly words: number;
  /** All tokens with bytes but those that end a text. */
  readonly all: TokenTree;
  /** Tokens of plain characters alone, at most PLAIN_CHARACTERS (State.takesPlain), and the others as a tree. */
  readonly plain: Uint32Array;
  readonly rest: TokenTree;
  /** Tokens without bytes, which don't end a text. */
  readonly controls: Uint32Array;
  readonly stops: Uint32Array;
  /** The longest token. */
  readonly depth: number;
}

/** Takes about 0.4 s for 150,000 tokens. */
export function* readTokenBytes(tokenizer: Pick<Tokenizer, 'size' | 'bytesOf' | 'stops'>): Slices<TokenBytes> {
  const { size } = tokenizer;
  const words = Math.ceil(size / 32);
  const [plain, controls, stops] = [new Uint32Array(words), new Uint32Array(words), new Uint32Array(words)];
  const spelled: Spelled[] = [];
  const rest: Spelled[] = [];
  for (let token = 0; token < size; token++) {
    if (token % SLICE === 0) yield;
    if (tokenizer.stops.has(token)) {
      addToken(stops, token);
      continue;
    }
    const spelling = Buffer.from(tokenizer.bytesOf(token)).toString('latin1');
    if (spelling === '') {
      addToken(controls, token);
      continue;
    }
    spelled.push({ token, spelling });
    if (isPlain(spelling)) addToken(plain, token);
    else rest.push({ token, spelling });
  }
  const depth = spelled.reduce((longest, { spelling }) => Math.max(longest, spelling.length), 0);
  const bytesOf = (token: number): Uint8Array => tokenizer.bytesOf(token);
  const [all, others] = [yield* treeOf(spelled), yield* treeOf(rest)];
  return { size, bytesOf, words, all, plain, rest: others, controls, stops, depth };
}

export function addToken(set: Uint32Array, token: number): void {
  set[token >> 5] = (set[token >> 5] as number) | (1 << (token & 31));
}

export function hasToken(set: Uint32Array, token: number): boolean {
  return (((set[token >> 5] as number) >>> (token & 31)) & 1) === 1;
}

interface Spelled {
  readonly token: number;
  /** Its bytes, as characters of the same numbers. */
  readonly spelling: string;
}

/** Whole characters of one to three bytes, without control characters, quotes and backslashes. */
const PLAIN = /^(?:[ !#-[\]-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2})+$/;

function isPlain(spelling: string): boolean {
  if (spelling.length > 3 * PLAIN_CHARACTERS || !PLAIN.test(spelling)) return false;
  const text = new TextDecoder().decode(Buffer.from(spelling, 'latin1'));
  return text.length <= PLAIN_CHARACTERS && !text.includes('\ufffd');
}

/** In the order of their bytes. */
function* sorted(spelled: readonly Spelled[]): Slices<Spelled[]> {
  const byBeginning = new Map<string, Spelled[]>();
  for (const [index, one] of spelled.entries()) {
    if (index % SLICE === 0) yield;
    const beginning = one.spelling.slice(0, 2);
    const own = byBeginning.get(beginning) ?? [];
    byBeginning.set(beginning, own);
    own.push(one);
  }
  const found: Spelled[] = [];
  for (const [, own] of [...byBeginning].sort(([a], [b]) => (a < b ? -1 : 1))) {
    own.sort((a, b) => (a.spelling < b.spelling ? -1 : a.spelling > b.spelling ? 1 : 0));
    for (const one of own) found.push(one);
    yield;
  }
  return found;
}

function* treeOf(spelled: readonly Spelled[]): Slices<TokenTree> {
  const bytes: number[] = [];
  const depths: number[] = [];
  const firsts: number[] = [];
  const ends: number[] = [];
  const tokens: number[] = [];
  /** Nodes on the path to the last one. */
  const path: number[] = [];
  let before = '';
  for (const { token, spelling } of yield* sorted(spelled)) {
    if (tokens.length % SLICE === 0) yield;
    let common = 0;
    while (common < before.length && common < spelling.length && before[common] === spelling[common]) common++;
    while (path.length > common) ends[path.pop() as number] = bytes.length;
    for (let depth = common; depth < spelling.length; depth++) {
      path.push(bytes.length);
      bytes.push(spelling.charCodeAt(depth));
      depths.push(depth);
      firsts.push(tokens.length);
    }
    tokens.push(token);
    before = spelling;
  }
  for (const node of path) ends[node] = bytes.length;
  firsts.push(tokens.length);
  return {
    nodes: bytes.length,
    bytes: Uint8Array.from(bytes),
    depths: Uint16Array.from(depths),
    ends: Int32Array.from(ends),
    firsts: Int32Array.from(firsts),
    tokens: Int32Array.from(tokens),
  };
}
