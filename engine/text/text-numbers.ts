import { hashOf, PackedTexts, type TextList } from '../gguf/text-list.ts';

/** The number of each of many texts. */
export interface TextNumbers {
  /** @returns the place of the text in its list; undefined if it is none of them */
  get(text: string): number | undefined;
}

/** Places that are looked at for one text before a Map, whose hashes can't be predicted, takes over. */
const MOST_PROBES = 256;

/** Bits of a slot for a place, from 1 on, with 0 for none; the others are the first bits of its text's hash. */
const PLACE_BITS = 23;
const PLACE = 2 ** PLACE_BITS - 1;

/**
 * An index of a list of texts, such as the hundreds of thousands of a vocabulary: a hash table of their places with
 * linear probing, which is filled in a small part of the time of a Map, and without making strings of packed texts.
 * @param texts fewer than 2²³
 * @param order places in the list that are indexed, of which of equal texts the first is found; default: all
 */
export function textNumbers(texts: TextList, order?: Int32Array): TextNumbers {
  const count = order?.length ?? texts.length;
  const placeOf = (index: number): number => (order === undefined ? index : (order[index] as number));
  const hashAt =
    texts instanceof PackedTexts
      ? (place: number): number => texts.hashAt(place)
      : (place: number): number => hashOf(texts.at(place) as string);
  // All hashes first: then the processor fetches the slots of several texts at the same time.
  const hashes = new Int32Array(count);
  for (let index = 0; index < count; index++) hashes[index] = hashAt(placeOf(index));
  // At most two thirds full.
  const mask = 2 ** Math.ceil(Math.log2(1.5 * count + 1)) - 1;
  const slots = new Int32Array(mask + 1);
  for (let index = 0; index < count; index++) {
    const hash = hashes[index] as number;
    let slot = hash & mask;
    let probes = 0;
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) probes++;
    if (probes > MOST_PROBES) return mapOf(texts, order);
    slots[slot] = (hash & ~PLACE) | (placeOf(index) + 1);
  }
  return {
    get(text) {
      const hash = hashOf(text);
      for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
        const entry = slots[slot] as number;
        if (entry === 0) return undefined;
        const place = (entry & PLACE) - 1;
        if ((entry ^ hash) >>> PLACE_BITS === 0 && texts.at(place) === text) return place;
      }
    },
  };
}

function mapOf(texts: TextList, order: Int32Array | undefined): TextNumbers {
  const map = new Map<string, number>();
  const places = order ?? Int32Array.from({ length: texts.length }, (_, index) => index);
  for (const place of places.toReversed()) map.set(texts.at(place) as string, place);
  return map;
}
