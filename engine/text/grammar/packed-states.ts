import { SLICE, type Slices } from '../slices.ts';
import type { ByteEdge, State } from './automaton.ts';

/**
 * An automaton as numbers, which threads hand over without copying: how many states there are, and each of them, the
 * entry first, as its marks, byte edges, other states, call, repeat, counted steps and where they begin. States are named by their places in this order.
 */
export type PackedStates = Float64Array<ArrayBuffer>;

const [END, PLAIN, CONTROLS, CALL, REPEAT, COUNTED, BEGINS] = [1, 2, 4, 8, 16, 32, 64];
/** In place of a state: there is none. */
const NONE = -1;

/** The states that can be reached from an entry. */
export function packStates(entry: State): PackedStates {
  const found = [entry];
  const places = new Map([[entry, 0]]);
  const placeOf = (state: State): number => {
    const known = places.get(state);
    if (known !== undefined) return known;
    places.set(state, found.length);
    return found.push(state) - 1;
  };
  const packed = [0];
  for (const { bytes, others, call, repeat, counted, begins, isEnd, takesPlain, takesControls } of found) {
    const marks = (isEnd ? END : 0) | (takesPlain ? PLAIN : 0) | (takesControls ? CONTROLS : 0);
    packed.push(
      marks | (call ? CALL : 0) | (repeat ? REPEAT : 0) | (counted ? COUNTED : 0) | (begins ? BEGINS : 0),
      bytes.length,
    );
    for (const { low, high, to } of bytes) packed.push(low, high, placeOf(to));
    packed.push(others.length);
    for (const other of others) packed.push(placeOf(other));
    if (call) packed.push(placeOf(call.rule), placeOf(call.then));
    if (repeat) packed.push(placeOf(repeat.item), repeat.least, repeat.most, placeOf(repeat.after), repeat.plainUntil);
    if (begins) packed.push(placeOf(begins.state), begins.count);
    if (!counted) continue;
    packed.push(counted.free, counted.after === undefined ? NONE : placeOf(counted.after), counted.steps.length);
    for (const { item, to, most } of counted.steps) packed.push(placeOf(item), placeOf(to), most);
  }
  packed[0] = found.length;
  return Float64Array.from(packed);
}

/** A state before its parts are known. */
type Draft = { -readonly [Key in keyof State]: State[Key] };

/** The entry of these states. */
export function* unpackStates(packed: PackedStates): Slices<State> {
  const states: Draft[] = [];
  const count = packed[0] as number;
  while (states.length < count) {
    for (let left = Math.min(SLICE, count - states.length); left > 0; left--) states.push(draft(states.length));
    yield;
  }
  for (let [from, place] = [0, 1]; from < count; from += SLICE) {
    place = fill(states, { from, until: Math.min(count, from + SLICE) }, packed, place);
    yield;
  }
  return states[0] as State;
}

function draft(id: number): Draft {
  const marks = { isEnd: false, takesPlain: false, takesControls: false };
  return {
    id,
    bytes: [],
    others: [],
    call: undefined,
    repeat: undefined,
    counted: undefined,
    begins: undefined,
    ...marks,
  };
}

/** Gives states their parts, which are at a place of the packed ones. @returns the place after them */
function fill(
  states: readonly Draft[],
  { from, until }: { readonly from: number; readonly until: number },
  packed: PackedStates,
  begin: number,
): number {
  let place = begin;
  const next = (): number => packed[place++] as number;
  const state = (): State => states[next()] as State;
  for (let id = from; id < until; id++) {
    const one = states[id] as Draft;
    const marks = next();
    one.isEnd = (marks & END) !== 0;
    one.takesPlain = (marks & PLAIN) !== 0;
    one.takesControls = (marks & CONTROLS) !== 0;
    const bytes: ByteEdge[] = [];
    for (let left = next(); left > 0; left--) bytes.push({ low: next(), high: next(), to: state() });
    const others: State[] = [];
    for (let left = next(); left > 0; left--) others.push(state());
    one.bytes = bytes;
    one.others = others;
    if ((marks & CALL) !== 0) {
      const [rule, then] = [state(), state()];
      one.call = { rule, then };
    }
    if ((marks & REPEAT) !== 0)
      one.repeat = { item: state(), least: next(), most: next(), after: state(), plainUntil: next() };
    if ((marks & BEGINS) !== 0) one.begins = { state: state(), count: next() };
    if ((marks & COUNTED) === 0) continue;
    const [free, after] = [next(), states[next()]];
    const steps = Array.from({ length: next() }, () => ({ item: state(), to: state(), most: next() }));
    one.counted = { steps, after, free };
  }
  return place;
}
