import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { dequantize } from '../../engine/gguf/formats/formats.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { chunksOf, collectImportance } from '../../engine/runtime/load/collect-importance.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { observedInputs } from '../../engine/runtime/observed/observed-inputs.ts';
import { madeFile } from './made-file.ts';

const test = suite('importance of columns');
let folder = '';
let model = '';
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-importance-'));
  model = await madeFile({ folder, name: 'f32' });
});
test.after(() => rmSync(folder, { recursive: true }));

function using<Result>(run: (kernels: Kernels) => Result, implementation: 'auto' | 'reference' = 'reference'): Result {
  const kernels = openKernels({ implementation, warn() {} });
  try {
    return run(kernels);
  } finally {
    kernels.close();
  }
}

const CHUNKS = [
  [1, 20, 30, 4, 5],
  [7, 8, 9, 10, 11],
];

/** Values of a tensor of F32. */
function valuesOf(name: string): Float32Array {
  return withFile(model, (bytes) => {
    const tensor = readGguf(bytes).tensors.find((one) => one.name === name);
    if (tensor === undefined) throw new Error(name);
    const values = new Float32Array(tensor.bytes / 4);
    dequantize('F32', bytes.read(tensor.offset, tensor.bytes), values);
    return values;
  });
}

test('the first layer’s attention sees the norms of the tokens’ embeddings', () => {
  const inputs = using((kernels) => collectImportance({ model, kernels, chunks: CHUNKS, context: 5 }));
  const [embeddings, weight] = [valuesOf('token_embd.weight'), valuesOf('blk.0.attn_norm.weight')];
  const expected = new Float64Array(256);
  for (const token of CHUNKS.flat()) {
    const row = embeddings.subarray(256 * token, 256 * (token + 1));
    const scale = 1 / (row.reduce((sum, value) => sum + value * value, 0) / 256 + 1e-5);
    row.forEach((value, column) => {
      expected[column] = (expected[column] ?? 0) + scale * (value * (weight[column] as number)) ** 2;
    });
  }
  for (const name of ['q', 'k', 'v'].map((letter) => `blk.0.attn_${letter}.weight`)) {
    const found = inputs.get(name);
    assert.is(found?.tokens, 10);
    expected.forEach((value, column) => {
      assert.ok(Math.abs((found?.squares[column] as number) / value - 1) < 1e-5, `${name} ${column}`);
    });
  }
});

test('every matrix of the layers has inputs of its width, the output and the embedding none', () => {
  const inputs = using((kernels) => collectImportance({ model, kernels, chunks: CHUNKS, context: 5 }));
  const matrices = ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'];
  assert.equal(
    [...inputs.keys()].sort(),
    [0, 1].flatMap((layer) => matrices.map((matrix) => `blk.${layer}.${matrix}.weight`)).sort(),
  );
  assert.is(inputs.get('blk.1.ffn_down.weight')?.squares.length, 512);
  assert.equal(inputs.get('blk.1.ffn_up.weight'), inputs.get('blk.1.ffn_gate.weight'));
});

test('Q, K and V in one matrix have their inputs once', async () => {
  const fused = await madeFile({
    folder,
    name: 'fused',
    edit(tensors) {
      const parts = tensors.filter(({ name }) => /^blk\.0\.attn_[qkv]\.weight$/.test(name));
      const pieces = () => parts.flatMap((part) => [...(part.pieces() as Iterable<Uint8Array>)]);
      const rows = parts.reduce((sum, { shape }) => sum + (shape[1] ?? 0), 0);
      const whole = { name: 'blk.0.attn_qkv.weight', shape: [256, rows], type: 'F32', pieces } as const;
      return [...tensors.filter((tensor) => !parts.includes(tensor)), whole];
    },
  });
  const inputsOf = (path: string) =>
    using((kernels) => collectImportance({ model: path, kernels, chunks: CHUNKS, context: 5 }));
  const [one, three] = [inputsOf(fused), inputsOf(model)];
  assert.equal(one.get('blk.0.attn_qkv.weight'), three.get('blk.0.attn_q.weight'));
  assert.is(one.has('blk.0.attn_q.weight'), false);
});

test('the fastest kernels see what the reference sees', () => {
  const [exact, fast] = (['reference', 'auto'] as const).map((implementation) =>
    using((kernels) => collectImportance({ model, kernels, chunks: CHUNKS, context: 5 }), implementation),
  );
  for (const [name, { squares }] of exact ?? []) {
    const other = fast?.get(name)?.squares ?? [];
    // Activations of native kernels may be rounded to bfloat16.
    for (let column = 0; column < squares.length; column++) {
      const [one, two] = [squares[column] as number, other[column] as number];
      assert.ok(Math.abs(one - two) <= 0.1 * one + 0.05, `${name} ${column}: ${one} and ${two}`);
    }
  }
});

test('being observed changes no logit', () => {
  const logitsOf = (observed: boolean): Float32Array =>
    using((kernels) => {
      const seen = observed ? observedInputs(kernels, withFile(model, readGguf), () => {}) : kernels;
      return loadTransformer(model, { kernels: seen, context: 5 })
        .evaluate(CHUNKS[0] ?? [])
        .slice();
    }, 'auto');
  assert.equal(logitsOf(true), logitsOf(false));
});

test('chunks begin with the token that begins texts, and a remainder is omitted', () => {
  assert.equal(chunksOf([1, 2, 3, 4, 5], 2, undefined), [
    [1, 2],
    [3, 4],
  ]);
  assert.equal(chunksOf([1, 2, 3, 4, 5], 3, 9), [
    [9, 1, 2],
    [9, 3, 4],
  ]);
  assert.equal(chunksOf([1, 2], 8, 9), [[9, 1, 2]]);
});

test.run();
