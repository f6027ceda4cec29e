import { withFile } from '../../gguf/file-source.ts';
import { dequantize } from '../../gguf/formats/formats.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { InputError } from '../../input/input-error.ts';
import { QUANTIZATIONS } from '../../model/quantization.ts';
import { allFinite } from '../pass/finite-logits.ts';

/**
 * Error for logits that aren't numbers: it names the first tensor of the file with a weight that isn't one. Reads
 * tensors up to that one, which may take a minute.
 * @param path the model's file, or the part of it that this device has
 */
export function noNumbers(path: string): InputError {
  const problem =
    'the file’s weights give no numbers, though those of this file are finite; if others have parts of the model, look at theirs';
  return damagedTensor(path) ?? new InputError(path, problem);
}

/** Error for the first tensor of a file with a weight that isn't a number; `undefined` if there is none. */
export function damagedTensor(path: string): InputError | undefined {
  return withFile(path, (source) => {
    for (const tensor of readGguf(source).tensors) {
      const index = firstNonFinite(tensor, (offset, length) => source.read(offset, length));
      if (index !== undefined)
        return new InputError(
          path,
          `the file’s weights give no numbers: ${tensor.name} has NaN or infinity at value ${index}; use another file`,
        );
    }
    return undefined;
  });
}

/** Weights that are decoded at once. */
const PIECE = 2 ** 20;

/** The index of the first weight of a tensor that is NaN or infinite. */
function firstNonFinite(
  { type, offset, bytes }: GgufTensor,
  read: (offset: number, length: number) => Uint8Array,
): number | undefined {
  const { block, bytes: blockBytes } = QUANTIZATIONS[type];
  const blocks = bytes / blockBytes;
  const most = PIECE / block;
  for (let from = 0; from < blocks; from += most) {
    const count = Math.min(most, blocks - from);
    const values = new Float32Array(count * block);
    dequantize(type, read(offset + from * blockBytes, count * blockBytes), values);
    if (!allFinite(values)) return from * block + values.findIndex((value) => !Number.isFinite(value));
  }
  return undefined;
}
