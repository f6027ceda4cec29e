import { join } from 'node:path';
import { partPath } from '../../engine/gguf/file-parts.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { writeGguf } from '../../engine/gguf/write-gguf.ts';

export interface PartsToWrite {
  readonly folder: string;
  readonly name: string;
  readonly count: number;
  /** Whether the first part has metadata alone, as `gguf-split --no-tensor-first-split` writes it. */
  readonly emptyFirst?: boolean;
  /** Metadata of a part, counted from 0, in place of what a splitter writes. */
  readonly metadata?: (part: number) => readonly [string, MetadataValue][];
}

/** Writes a model's file as parts, as llama.cpp's splitter does; returns their paths. */
export async function writeParts(
  path: string,
  { folder, name, count, emptyFirst = false, metadata = () => [] }: PartsToWrite,
): Promise<string[]> {
  const gguf = withFile(path, readGguf);
  const holders = emptyFirst ? count - 1 : count;
  const each = Math.ceil(gguf.tensors.length / holders);
  const paths: string[] = [];
  for (let part = 0; part < count; part++) {
    const holder = emptyFirst ? part - 1 : part;
    const own = gguf.tensors.filter((_, index) => Math.floor(index / each) === holder);
    const split: [string, MetadataValue][] = [
      ['split.no', { type: 'uint16', value: part }],
      ['split.count', { type: 'uint16', value: count }],
      ['split.tensors.count', { type: 'int32', value: gguf.tensors.length }],
    ];
    const target = join(folder, partPath(name, part, count));
    const entries = new Map([...(part === 0 ? gguf.metadata : []), ...split, ...metadata(part)]);
    const tensors = own.map((tensor) => ({
      ...tensor,
      pieces: () => [withFile(path, (source) => source.read(tensor.offset, tensor.bytes))],
    }));
    await writeGguf(target, entries, tensors);
    paths.push(target);
  }
  return paths;
}
