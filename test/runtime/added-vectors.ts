import type { TensorSource } from '../../engine/gguf/write-gguf.ts';
import { floatVector } from './made-file.ts';

/** Rows of the matrices of `madeFile`'s own shape. */
const WIDTHS = { attn_q: 256, attn_k: 64, attn_v: 64, attn_output: 256, ffn_gate: 512, ffn_up: 512, ffn_down: 256 };
export const ALL_MATRICES = Object.keys(WIDTHS) as (keyof typeof WIDTHS)[];

/** Adds a bias or a number (`.scale`), which files may have, to these matrices of every layer. */
export const withVectors =
  (names: readonly (keyof typeof WIDTHS)[], what: 'bias' | 'scale') =>
  (tensors: readonly TensorSource[]): readonly TensorSource[] => {
    const layers = tensors.filter(({ name }) => name.endsWith('attn_norm.weight')).length;
    const added = Array.from({ length: layers }, (_, layer) =>
      names.map((name, index) => {
        const width = what === 'scale' ? 1 : WIDTHS[name];
        const values = Array.from({ length: width }, (_, i) => 0.7 + 0.5 * Math.sin(i + 3 * index + 7 * layer));
        return floatVector(`blk.${layer}.${name}.${what}`, values);
      }),
    );
    return [...tensors, ...added.flat()];
  };
