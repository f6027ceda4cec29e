import { InputError } from '../input/input-error.ts';

/**
 * A model in several files: NAME-00001-of-00003.gguf and so on, as llama.cpp splits them. They are used as one file, in
 * which each begins at a multiple of PART_ALIGNMENT after the one before.
 */
export interface Part {
  readonly from: number;
  readonly size: number;
}

/** A multiple of the pages of every operating system: whole pages around a range of a part are of that part alone. */
const PART_ALIGNMENT = 2 ** 16;

const PART_NAME = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;

/**
 * The files of a model, in order: its parts if `path` is named as the first of several, or itself.
 * @throws InputError if it is named as another part than the first
 */
export function partPaths(path: string): readonly string[] {
  const [, name = '', number = '', digits = '1'] = PART_NAME.exec(path) ?? [];
  const count = Number(digits);
  if (count <= 1) return [path];
  const paths = Array.from({ length: count }, (_, index) => partPath(name, index, count));
  if (Number(number) === 1) return paths;
  throw new InputError(path, `is part ${Number(number)} of ${count} of a model; give the first: ${paths[0]}`);
}

/** The path of a part of `count`, counted from 0. */
export function partPath(name: string, index: number, count: number): string {
  const five = (number: number): string => String(number).padStart(5, '0');
  return `${name}-${five(index + 1)}-of-${five(count)}.gguf`;
}

/** Parts with these sizes, each with its first byte in the file that they make up. */
export function placeParts(sizes: readonly number[]): Part[] {
  let from = 0;
  return sizes.map((size) => {
    const part = { from, size };
    from = Math.ceil((from + size) / PART_ALIGNMENT) * PART_ALIGNMENT;
    return part;
  });
}

/** The part in which a byte lies. @throws RangeError for a byte between parts or beyond them */
export function partAt<P extends Part>(parts: readonly P[], byte: number): P {
  const found = parts.find(({ from, size }) => from <= byte && byte < from + size);
  if (found === undefined) throw new RangeError(`byte ${byte} is in no part`);
  return found;
}
