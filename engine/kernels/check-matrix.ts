import { QUANTIZATIONS, quantizedBytes } from '../model/quantization.ts';
import type { MatrixSource } from './matrix.ts';

/** @returns the matrix's bytes @throws RangeError unless it is whole blocks that lie within its source */
export function checkMatrix({ source, offset = 0, type, rows, columns }: MatrixSource): number {
  const { block } = QUANTIZATIONS[type];
  if (!(Number.isInteger(rows) && rows > 0 && Number.isInteger(columns) && columns > 0 && columns % block === 0)) {
    throw new RangeError(`a ${type} matrix of ${rows} × ${columns}; columns must be a multiple of ${block}`);
  }
  const bytes = rows * quantizedBytes(columns, type);
  const size = source instanceof Uint8Array ? source.length : source.size;
  if (!(Number.isInteger(offset) && offset >= 0 && offset + bytes <= size)) {
    const where = source instanceof Uint8Array ? 'the bytes given' : source.path;
    throw new RangeError(`a ${type} matrix of ${bytes} bytes from byte ${offset} on; ${where} has ${size}`);
  }
  return bytes;
}
