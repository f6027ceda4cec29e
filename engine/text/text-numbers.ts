/** The number of each of many texts. */
export interface TextNumbers {
  /** @returns the place of the text in its list; undefined if it is none of them */
  get(text: string): number | undefined;
}

/** Places that are looked at for one text before a Map, whose hashes nobody can foresee, takes over. */
const MOST_PROBES = 256;

/**
 * An index of a list of texts, such as the hundreds of thousands of a vocabulary: a hash table of their places with
 * linear probing, which is filled in a small part of the time of a Map.
 * @param order places in the list that are indexed; of equal texts the first of them is found
 */
export function textNumbers(texts: readonly string[], order: Int32Array): TextNumbers {
  // At most half full.
  const mask = 2 ** Math.ceil(Math.log2(2 * order.length + 1)) - 1;
  // Places, from 1 on; 0: free.
  const slots = new Int32Array(mask + 1);
  for (const place of order) {
    let slot = hashOf(texts[place] as string) & mask;
    let probes = 0;
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) probes++;
    if (probes > MOST_PROBES) return mapOf(texts, order);
    slots[slot] = place + 1;
  }
  return {
    get(text) {
      for (let slot = hashOf(text) & mask; ; slot = (slot + 1) & mask) {
        const place = (slots[slot] as number) - 1;
        if (place < 0) return undefined;
        if (texts[place] === text) return place;
      }
    },
  };
}

function mapOf(texts: readonly string[], order: Int32Array): TextNumbers {
  const map = new Map<string, number>();
  for (let index = order.length - 1; index >= 0; index--) {
    const place = order[index] as number;
    map.set(texts[place] as string, place);
  }
  return map;
}

/** FNV-1a over units of UTF-16, with its high bits mixed into the low ones. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
