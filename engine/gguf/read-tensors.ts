import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization, quantizedBytes } from '../model/quantization.ts';
import type { Cursor } from './cursor.ts';
import { describeFormatNumber, formatByNumber } from './formats/formats.ts';
import type { GgufTensor } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import { GGUF_LIMITS } from './limits.ts';

/** An entry of the list: `relative` is the offset within the data, `at` that of the entry itself. */
export interface ListedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: Quantization;
  readonly bytes: number;
  readonly relative: number;
  readonly at: number;
}

/** Reads the list of tensors. @throws GgufError for invalid shapes, types, offsets and names */
export function readTensorList(cursor: Cursor, tensors: number, alignment: number, fileBytes: number): ListedTensor[] {
  const names = new Set<string>();
  const list: ListedTensor[] = [];
  while (list.length < tensors) {
    const at = cursor.position;
    const name = cursor.text(`the name of tensor ${list.length + 1} of ${tensors}`, GGUF_LIMITS.tensorNameBytes);
    const what = `tensor ${quoted(name)}`;
    if (names.has(name)) cursor.fail(`${what} appears twice; names are unique`, at);
    names.add(name);
    const shape = readShape(cursor, what, fileBytes);
    const type = readTensorType(cursor, what);
    const bytes = tensorBytes(cursor, what, shape, type, at);
    const offsetAt = cursor.position;
    const relative = cursor.count(`the offset of ${what}`, Number.MAX_SAFE_INTEGER);
    if (relative % alignment !== 0)
      cursor.fail(
        `${what} begins at ${relative} of the data, which is not a multiple of the alignment ${alignment}`,
        offsetAt,
      );
    list.push({ name, shape, type, bytes, relative, at });
  }
  return list;
}

/** Computes where the tensors are in the file. @throws GgufError if one reaches beyond the end or into another */
export function placeTensors(
  cursor: Cursor,
  list: readonly ListedTensor[],
  dataOffset: number,
  fileBytes: number,
): GgufTensor[] {
  for (const { name, relative, bytes, at } of list) {
    const end = dataOffset + relative + bytes;
    if (end > fileBytes) {
      const place = `${bytes} bytes from byte ${dataOffset + relative}`;
      cursor.fail(`tensor ${quoted(name)} has ${place}, but the file ends at byte ${fileBytes}; it is truncated`, at);
    }
  }
  const ordered = [...list].sort((a, b) => a.relative - b.relative);
  for (const [index, tensor] of ordered.entries()) {
    const before = ordered[index - 1];
    if (before !== undefined && before.relative + before.bytes > tensor.relative) {
      const [first, second] = [quoted(before.name), quoted(tensor.name)];
      cursor.fail(`tensors ${first} and ${second} overlap: both hold byte ${dataOffset + tensor.relative}`, tensor.at);
    }
  }
  return list.map(({ name, shape, type, bytes, relative }) => ({
    name,
    shape,
    type,
    offset: dataOffset + relative,
    bytes,
  }));
}

/** Values per byte of the densest format: a file can't have more. */
const DENSEST = Math.max(...QUANTIZATION_NAMES.map((name) => QUANTIZATIONS[name].block / QUANTIZATIONS[name].bytes));

function readShape(cursor: Cursor, what: string, fileBytes: number): number[] {
  const at = cursor.position;
  const dimensions = cursor.number('uint32', `the number of dimensions of ${what}`);
  if (dimensions < 1 || dimensions > GGUF_LIMITS.dimensions)
    cursor.fail(`${what} has ${dimensions} dimensions; 1 to ${GGUF_LIMITS.dimensions} are allowed`, at);
  const most = DENSEST * fileBytes;
  const shape: number[] = [];
  let elements = 1;
  while (shape.length < dimensions) {
    const length = cursor.count(`dimension ${shape.length + 1} of ${what}`, Number.MAX_SAFE_INTEGER);
    elements *= length;
    if (length === 0) cursor.fail(`dimension ${shape.length + 1} of ${what} is 0; at least 1 is needed`, at);
    if (elements > most) {
      const room = `which don’t fit in a file of ${fileBytes} bytes; it is truncated or malformed`;
      cursor.fail(`${what} has at least ${elements} values, ${room}`, at);
    }
    shape.push(length);
  }
  // A matrix of one row is a vector.
  while (shape.length > 1 && shape.at(-1) === 1) shape.pop();
  return shape;
}

function readTensorType(cursor: Cursor, what: string): Quantization {
  const at = cursor.position;
  const number = cursor.number('uint32', `the type of ${what}`);
  const supported = QUANTIZATION_NAMES.join(', ');
  return (
    formatByNumber(number) ??
    cursor.fail(`${what} has type ${describeFormatNumber(number)}, which is not supported; supported: ${supported}`, at)
  );
}

function tensorBytes(cursor: Cursor, what: string, shape: readonly number[], type: Quantization, at: number): number {
  const { block } = QUANTIZATIONS[type];
  const [row = 1] = shape;
  if (row % block !== 0)
    cursor.fail(`${what} has rows of ${row} values, which is not a whole number of ${type} blocks of ${block}`, at);
  return quantizedBytes(
    shape.reduce((product, length) => product * length, 1),
    type,
  );
}
