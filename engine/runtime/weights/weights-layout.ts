import type { Gguf } from '../../gguf/gguf.ts';
import type { ByteRange } from '../../kernels/file-pages.ts';
import type { Shape } from '../../model/architecture.ts';
import { joinRanges } from './byte-ranges.ts';

/** A part of a model's weights: a layer by its index, or the embedding or output. */
export type WeightsPart = number | 'embedding' | 'output';

/** The name of a part of a forward pass, in traces and hooks. */
export type PassPartName = 'embedding' | `layer ${number}` | 'output';

/** The weights that a part of a forward pass uses. */
export function weightsPartOf(part: PassPartName): WeightsPart {
  if (part === 'embedding' || part === 'output') return part;
  return Number(part.slice('layer '.length));
}

/** The places of a model's parts in its file. */
export interface WeightsLayout {
  readonly layers: number;
  /**
   * The byte ranges of a part in order: one, or several if other parts lie in between. A tied output consists of the
   * embedding and its norm.
   * @throws RangeError for a layer that doesn't exist
   */
  ranges(part: WeightsPart): readonly ByteRange[];
}

/** The layout of a file; modelFromGguf must have accepted it. */
export function weightsLayout(gguf: Gguf, { layers, tiedEmbeddings }: Shape): WeightsLayout {
  const found = new Map<WeightsPart, ByteRange[]>();
  const add = (part: WeightsPart, range: ByteRange): void => {
    const ranges = found.get(part);
    if (ranges === undefined) found.set(part, [range]);
    else ranges.push(range);
  };
  for (const { name, offset, bytes } of gguf.tensors) {
    const range = { from: offset, to: offset + bytes };
    const layer = /^blk\.(\d+)\./.exec(name)?.[1];
    if (layer !== undefined) add(Number(layer), range);
    else if (name.startsWith('output')) add('output', range);
    else if (name === 'token_embd.weight') {
      add('embedding', range);
      if (tiedEmbeddings) add('output', range);
    }
  }
  const joined = new Map([...found].map(([part, ranges]) => [part, joinRanges(ranges, gguf.alignment - 1)]));
  return {
    layers,
    ranges(part) {
      const ranges = joined.get(part);
      if (ranges === undefined) throw new RangeError(`there is no layer ${part}; the model has ${layers}`);
      return ranges;
    },
  };
}

/** A description for people, such as `layers 3–5, output`. */
export function describeParts(parts: readonly WeightsPart[]): string {
  const texts: string[] = [];
  for (let i = 0; i < parts.length; ) {
    const first = parts[i] as WeightsPart;
    let end = i + 1;
    if (typeof first === 'number') while (parts[end] === first + (end - i)) end++;
    const last = parts[end - 1];
    if (typeof first !== 'number') texts.push(first);
    else texts.push(first === last ? `layer ${first}` : `layers ${first}–${last}`);
    i = end;
  }
  return texts.join(', ');
}
