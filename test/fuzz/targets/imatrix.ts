import { readImportance } from '../../../engine/gguf/importance.ts';
import type { Metadata } from '../../../engine/gguf/metadata-value.ts';
import { mutateHeader } from '../mutate-gguf.ts';
import type { FuzzTarget } from '../target.ts';
import { decodeInput, encodeInput, reader } from './gguf.ts';

const METADATA: Metadata = new Map([
  ['general.type', { type: 'string', value: 'imatrix' }],
  ['imatrix.datasets', { type: 'array', value: { of: 'string', values: ['a.txt'] } }],
  ['imatrix.chunk_count', { type: 'uint32', value: 2 }],
  ['imatrix.chunk_size', { type: 'uint32', value: 128 }],
]);
const MATRICES = ['blk.0.ffn_up.weight', 'blk.1.attn_q.weight', 'output.weight'];

/** Importance matrices. An input is as one of gguf.ts; the rest of a file is zeros. */
export function open(): FuzzTarget {
  const tensors = MATRICES.flatMap((name) => [
    { name: `${name}.in_sum2`, type: 'F32', shape: [32, 1] } as const,
    { name: `${name}.counts`, type: 'F32', shape: [1, 1] } as const,
  ]);
  return {
    input: (random) => encodeInput(mutateHeader([{ metadata: METADATA, tensors }], random)),
    read(input) {
      const header = decodeInput(input);
      const { inputs } = readImportance({ name: 'i.gguf', size: header.fileBytes, read: reader(header) });
      return inputs.size > 0 ? 'an importance matrix' : 'one of nothing';
    },
  };
}
