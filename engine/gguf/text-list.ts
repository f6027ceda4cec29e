/** Texts by number, from 0 on; an array of strings is one. */
export interface TextList extends Iterable<string> {
  readonly length: number;
  /** The string at an index; `undefined` beyond the ends. */
  at(index: number): string | undefined;
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Texts as a file has them, in UTF-8: each becomes a string when it is first asked for, since of the hundreds of
 * thousands of a vocabulary few ever are.
 */
export class PackedTexts implements TextList {
  private readonly strings: (string | undefined)[] = [];

  /**
   * @param bytes valid UTF-8 in each of the texts
   * @param places where each text begins in the bytes and where it ends, for one after the other
   */
  constructor(
    private readonly bytes: Uint8Array,
    private readonly places: Uint32Array,
  ) {}

  get length(): number {
    return this.places.length / 2;
  }

  at(index: number): string | undefined {
    if (index < 0 || index >= this.length) return undefined;
    this.strings[index] ??= DECODER.decode(this.bytes.subarray(this.places[2 * index], this.places[2 * index + 1]));
    return this.strings[index];
  }

  *[Symbol.iterator](): Iterator<string> {
    for (let index = 0; index < this.length; index++) yield this.at(index) as string;
  }

  /** `hashOf` of a text, from its bytes. */
  hashAt(index: number): number {
    const { bytes, places } = this;
    const end = places[2 * index + 1] as number;
    let hash = FIRST;
    for (let at = places[2 * index] as number; at < end; ) {
      const lead = bytes[at++] as number;
      if (lead < 0x80) {
        hash = Math.imul(hash ^ lead, PRIME);
        continue;
      }
      const more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      let character = lead & (0x3f >> more);
      for (let left = more; left > 0; left--) character = (character << 6) | ((bytes[at++] as number) & 0x3f);
      if (more === 3) {
        hash = Math.imul(hash ^ (0xd7c0 + (character >> 10)), PRIME);
        character = 0xdc00 + (character & 0x3ff);
      }
      hash = Math.imul(hash ^ character, PRIME);
    }
    return finished(hash);
  }
}

/** FNV-1a over units of UTF-16, with its high bits mixed into the low ones. */
export function hashOf(text: string): number {
  let hash = FIRST;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return finished(hash);
}

const FIRST = 0x811c9dc5;
const PRIME = 0x01000193;

function finished(hash: number): number {
  return hash ^ (hash >>> 15);
}
