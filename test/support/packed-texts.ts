import { PackedTexts } from '../../engine/gguf/text-list.ts';

/** Texts as a file has them. */
export function packedTexts(texts: readonly string[]): PackedTexts {
  const all = new TextEncoder().encode(texts.join(''));
  let at = 0;
  const places = texts.flatMap((text) => {
    const from = at;
    at += new TextEncoder().encode(text).length;
    return [from, at];
  });
  return new PackedTexts(all, Uint32Array.from(places));
}
