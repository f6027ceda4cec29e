import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TensorSource } from '../../engine/gguf/write-gguf.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { UniformShape } from '../../engine/model/architecture.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { BF16_SETS, roundsMore } from '../support/rounding-sets.ts';
import { ALL_MATRICES, withVectors } from './added-vectors.ts';
import { floatVector, type MadeFile, madeFile } from './made-file.ts';
import { nmse } from './nmse.ts';
import { plainForward } from './plain-forward.ts';

const test = suite('architectures');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const TOKENS = [3, 141, 59, 26, 53, 58, 97, 93, 23, 84, 62, 64];

function logits(path: string, options: KernelOptions): Float32Array {
  const kernels = openKernels({ ...options, threads: 2 });
  const found = loadTransformer(path, { kernels, context: TOKENS.length, kvCache: 'F32' }).evaluateAll(TOKENS);
  kernels.close();
  return found;
}

/** Heads of 48 values: 8 · 48 = 384 is not the hidden size of 256. */
const WIDE_HEADS: Partial<UniformShape> = { architecture: 'qwen3', headSize: 48 };

const rotatedPart = (architecture: string): NonNullable<MadeFile['metadata']> => [
  [`${architecture}.rope.dimension_count`, { type: 'uint32', value: 20 }],
];
const factors = Array.from({ length: 16 }, (_, i) => 1 + i / 2);

const MODELS: readonly Omit<MadeFile, 'folder'>[] = [
  { name: 'llama', shape: {} },
  { name: 'llama-tied', shape: { tiedEmbeddings: true } },
  { name: 'llama-3.1', edit: (tensors) => [...tensors, floatVector('rope_freqs.weight', factors)] },
  { name: 'llama-rotated-in-part', metadata: rotatedPart('llama') },
  { name: 'llama-one-kv-head', shape: { kvHeads: 1 } },
  { name: 'llama-all-kv-heads', shape: { kvHeads: 8 } },
  { name: 'qwen2', shape: { architecture: 'qwen2', qkvBias: true } },
  { name: 'qwen2-tied', shape: { architecture: 'qwen2', qkvBias: true, tiedEmbeddings: true } },
  {
    name: 'qwen2-rotated-in-part',
    shape: { architecture: 'qwen2', qkvBias: true },
    metadata: rotatedPart('qwen2') ?? [],
  },
  { name: 'qwen3', shape: WIDE_HEADS },
  { name: 'qwen3-tied', shape: { ...WIDE_HEADS, tiedEmbeddings: true } },
  { name: 'llama-query-biases', edit: withVectors(['attn_q'], 'bias') },
  { name: 'llama-all-biases', edit: withVectors(ALL_MATRICES, 'bias') },
  { name: 'llama-scales', edit: withVectors(ALL_MATRICES, 'scale') },
  {
    name: 'llama-scaled-results-with-biases',
    edit: (tensors) =>
      withVectors(['attn_output', 'ffn_down'], 'scale')(withVectors(['attn_output', 'ffn_down'], 'bias')(tensors)),
  },
  { name: 'internlm2', shape: { architecture: 'internlm2' } },
];

for (const model of MODELS) {
  test(`${model.name}: logits of every position equal those of double precision, in F32 and F16`, async () => {
    for (const mix of ['F32', 'F16'] as const) {
      const path = await madeFile({ folder, ...model, mix });
      const truth = plainForward(path, TOKENS).flat();
      const error = nmse(logits(path, { implementation: 'reference' }), truth);
      assert.ok(error <= 1e-12, `${mix}: ${error}`);
      for (const set of NATIVE_SETS) {
        for (const exact of roundsMore(set) ? [true, false] : [true]) {
          const error = nmse(logits(path, { implementation: 'native', instructionSet: set, exact }), truth);
          const inBf16 = !exact && mix === 'F16' && BF16_SETS.includes(set);
          assert.ok(error <= (inBf16 ? 5e-4 : 1e-10), `${mix}, ${set}: ${error}`);
        }
      }
    }
  });

  test(`${model.name}: quantized weights give the logits of the reference with exact and rounded activations`, async () => {
    // Rows of 384 values are no whole number of 256: K formats fall back to others there.
    const mixes: readonly FileMix[] = ['Q4_K_M', 'Q8_0'];
    for (const mix of mixes) {
      const path = await madeFile({ folder, ...model, mix });
      const truth = plainForward(path, TOKENS).flat();
      assert.ok(nmse(logits(path, { implementation: 'reference' }), truth) <= 1e-12);
      for (const set of NATIVE_SETS) {
        for (const exact of roundsMore(set) ? [true, false] : [true]) {
          const error = nmse(logits(path, { implementation: 'native', instructionSet: set, exact }), truth);
          assert.ok(error <= (exact ? 1e-6 : 2.5e-3), `${mix}, ${set}: ${error}`);
        }
      }
    }
  });
}

test('weights in BF16 are exact with a cache in F32, by default where the processor has no bf16: else activations of many tokens are rounded to it', async () => {
  const path = await madeFile({ folder, name: 'llama-BF16', mix: 'BF16' });
  const truth = plainForward(path, TOKENS).flat();
  for (const set of NATIVE_SETS) {
    for (const exact of [true, false]) {
      const error = nmse(logits(path, { implementation: 'native', instructionSet: set, exact }), truth);
      assert.ok(error <= (!exact && BF16_SETS.includes(set) ? 1e-5 : 1e-10), `${set}: ${error}`);
    }
  }
});

for (const mix of ['F32', 'Q8_0', 'Q6_K'] as const) {
  test(`Q, K and V in one ${mix} matrix give bitwise the results of three matrices`, async () => {
    const separate = await madeFile({ folder, name: 'separate', mix });
    const fused = await madeFile({ folder, name: 'fused', mix, edit: fuse });
    for (const implementation of NATIVE_SETS.length > 0 ? (['reference', 'native'] as const) : ['reference' as const])
      assert.equal(logits(fused, { implementation }), logits(separate, { implementation }));
  });
}

/** Rows of q, then k, then v. */
function fuse(tensors: readonly TensorSource[]): TensorSource[] {
  return tensors.flatMap((tensor) => {
    if (/attn_[kv]\.weight$/.test(tensor.name)) return [];
    if (!tensor.name.endsWith('attn_q.weight')) return [tensor];
    const parts = ['q', 'k', 'v'].map((letter) => {
      const name = tensor.name.replace('attn_q', `attn_${letter}`);
      return tensors.find((candidate) => candidate.name === name) as TensorSource;
    });
    const rows = parts.reduce((sum, { shape }) => sum + (shape[1] as number), 0);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (const part of parts) yield* part.pieces();
    }
    const name = tensor.name.replace('attn_q', 'attn_qkv');
    return [{ ...tensor, name, shape: [tensor.shape[0] as number, rows], pieces }];
  });
}

test.run();
