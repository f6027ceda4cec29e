import { InputError } from '../input/input-error.ts';
import type { SourcePart } from './byte-source.ts';
import type { Gguf } from './gguf.ts';
import { metadataFields } from './metadata-fields.ts';

/** Keys that llama.cpp's splitter adds: number of the part, number of parts, tensors in all parts. */
const [NUMBER, COUNT, TENSORS] = ['split.no', 'split.count', 'split.tensors.count'] as const;

/** A whole number, which may be 0, or undefined if there is none. */
function countOf({ metadata, fields }: Gguf, key: string): number | undefined {
  const value = metadata.get(key)?.value;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  return fields.fail(key, 'is not a whole number from 0 on');
}

/** @throws InputError for a part of several that is not named as one */
export function checkWhole(gguf: Gguf): void {
  const count = countOf(gguf, COUNT) ?? 1;
  if (count <= 1) return;
  const number = countOf(gguf, NUMBER) ?? 0;
  const names = 'NAME-00001-of-0000N.gguf';
  throw new InputError(
    gguf.file,
    `is part ${number + 1} of ${count} of a model; name the parts ${names} and give the first`,
  );
}

/**
 * The header of a model in several files: metadata of the first, tensors of all.
 * @param headers of the parts, in order
 * @throws InputError if they are not the parts of one model
 */
export function joinParts(name: string, size: number, parts: readonly SourcePart[], headers: readonly Gguf[]): Gguf {
  const names = new Map<string, string>();
  const tensors = headers.flatMap((header, index) => {
    const { file } = header;
    const [number, count] = [countOf(header, NUMBER), countOf(header, COUNT)];
    if (number !== index || count !== parts.length) {
      const said = number === undefined ? `no ${NUMBER}` : `${NUMBER} ${number} and ${COUNT} ${count}`;
      throw new InputError(file, `has ${said}; by its name it is part ${index} (from 0) of ${parts.length}`);
    }
    const { from } = parts[index] as SourcePart;
    return header.tensors.map((tensor) => {
      const before = names.get(tensor.name);
      if (before !== undefined) throw new InputError(file, `has tensor ${tensor.name}, which ${before} has too`);
      names.set(tensor.name, file);
      return { ...tensor, offset: from + tensor.offset };
    });
  });
  const [first] = headers as readonly [Gguf, ...Gguf[]];
  const listed = countOf(first, TENSORS);
  if (listed !== tensors.length) {
    const found = `its parts have ${tensors.length} tensors`;
    throw new InputError(
      name,
      `${found}; ${TENSORS} is ${listed ?? 'missing'}; they are not of one model, or of different versions`,
    );
  }
  const metadata = new Map([...first.metadata].filter(([key]) => ![NUMBER, COUNT, TENSORS].some((own) => own === key)));
  return { ...first, file: name, metadata, fields: metadataFields(name, metadata), tensors, fileBytes: size };
}
