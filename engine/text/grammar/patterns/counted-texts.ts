import type { Automaton, State } from '../automaton.ts';
import type { Expression } from './expression.ts';
import { characterStates, distancesToEnd, MOST_PLACES, placeStates, QUOTE, type TextSteps } from './text-states.ts';

/** The end of counts of characters, whatever the length: a text with room for fewer begins with a higher count. */
const LAST_COUNT = 2 ** 32;

/** Places that may still be written out in a schema, for least numbers of characters. */
export interface Room {
  places: number;
}

/** Room at the beginning of a schema. */
export const MOST_WRITTEN = 2 * MOST_PLACES;

/** States of texts after their least number of characters, which all lengths share. */
export interface SharedPlaces {
  /** A place in which characters are no longer counted. */
  readonly uncounted: (place: Expression) => State;
  /** The place with room for this many characters; `undefined`: none of them can end. */
  readonly within: (place: Expression, room: number) => State | undefined;
}

/** @param then what follows the closing quotation mark */
export function sharedPlaces(automaton: Automaton, { steps }: TextSteps, then: State): SharedPlaces {
  let plain: ReadonlyMap<Expression, State> | undefined;
  let counted: ReadonlyMap<Expression, State> | undefined;
  const distances = distancesToEnd(steps);
  return {
    uncounted(place) {
      plain ??= placeStates(automaton, steps, then);
      return plain.get(place) as State;
    },
    within(place, room) {
      if ((distances.get(place) as number) > room) return undefined;
      counted ??= countedPlaces(automaton, steps, distances, then);
      return automaton.counting(counted.get(place) as State, LAST_COUNT - room);
    },
  };
}

/** Places in which characters are counted where the automaton is simulated. */
function countedPlaces(
  automaton: Automaton,
  steps: TextSteps['steps'],
  distances: ReadonlyMap<Expression, number>,
  then: State,
): ReadonlyMap<Expression, State> {
  const { open, byte, count, either, end, spend } = automaton;
  const quote = byte([[QUOTE, QUOTE, then]]);
  const states = new Map([...steps.keys()].map((place) => [place, open()]));
  const farthest = [...distances.values()].reduce((most, distance) => Math.max(most, distance), 0);
  for (const [place, state] of states) {
    const own = (steps.get(place) ?? []).map(({ ranges, to }) => ({
      item: either(characterStates(automaton, ranges, end())),
      ...{ to: states.get(to) as State, most: LAST_COUNT - (distances.get(to) as number) },
    }));
    spend(own.length);
    count(state, { steps: own, after: place.hasEmpty ? quote : undefined, free: LAST_COUNT - farthest });
  }
  return states;
}

/**
 * Texts between quotes, as JSON, of which a number of characters is asked. The least number is written out, place by place.
 * @param left places that may be written out, of which those of this text are taken
 * @returns `undefined` if there are none, or too many places to write out
 */
export function countedTextStates(
  automaton: Automaton,
  { begin, steps }: TextSteps,
  { least, most }: { readonly least: number; readonly most: number },
  shared: SharedPlaces,
  left: Room,
): State | undefined {
  const { open, add, bytes } = automaton;
  const layers = layersOf(begin, steps, least, left);
  if (layers === undefined) return undefined;
  const room = most - least;
  let states = new Map<Expression, State>();
  for (const place of layers.at(-1) as ReadonlySet<Expression>) {
    const state = room < LAST_COUNT ? shared.within(place, room) : shared.uncounted(place);
    if (state !== undefined) states.set(place, state);
  }
  for (const layer of layers.slice(0, -1).reverse()) {
    const before = new Map<Expression, State>();
    for (const place of layer) {
      const own = (steps.get(place) ?? []).filter(({ to }) => states.has(to));
      if (own.length === 0) continue;
      const state = open();
      for (const { ranges, to } of own)
        for (const one of characterStates(automaton, ranges, states.get(to) as State)) add(state, one);
      before.set(place, state);
    }
    states = before;
  }
  const first = states.get(begin);
  return first && bytes('"', first);
}

/** Places after 0, 1 … characters up to `least`; `undefined`: too many. */
function layersOf(
  begin: Expression,
  steps: TextSteps['steps'],
  least: number,
  left: Room,
): readonly ReadonlySet<Expression>[] | undefined {
  const layers: ReadonlySet<Expression>[] = [new Set([begin])];
  let places = 0;
  for (let length = 0; length < least; length++) {
    const next = new Set<Expression>();
    for (const place of layers[length] as ReadonlySet<Expression>)
      for (const { to } of steps.get(place) ?? []) next.add(to);
    places += next.size;
    if (places > Math.min(MOST_PLACES, left.places)) return undefined;
    layers.push(next);
  }
  left.places -= places;
  return layers;
}
