import { readFileSync } from 'node:fs';
import { InputError } from '../../engine/input/input-error.ts';

/** A matrix or vector of a safetensors file. */
export interface SafeTensor {
  /** Rows, then columns; or columns alone. */
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/**
 * The float32 tensors of a safetensors file by name: a length (uint64), a header in JSON of that length, the data.
 * @throws InputError for files of another form
 */
export function readSafetensors(path: string): ReadonlyMap<string, SafeTensor> {
  const bytes = readFileSync(path);
  const headerBytes = bytes.length < 8 ? Number.NaN : Number(bytes.readBigUInt64LE());
  if (!(headerBytes <= bytes.length - 8)) throw new InputError(path, 'is not a safetensors file; train.py writes one');
  const header: Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }> = JSON.parse(
    bytes.toString('utf8', 8, 8 + headerBytes),
  );
  return new Map(
    Object.entries(header).map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [begin, end],
        },
      ]) => {
        if (dtype !== 'F32') throw new InputError(path, `${name} is ${dtype}; only F32 is read`);
        // Copied, since the data need not be aligned.
        const data = Uint8Array.from(bytes.subarray(8 + headerBytes + begin, 8 + headerBytes + end));
        return [name, { shape, values: new Float32Array(data.buffer) }];
      },
    ),
  );
}
