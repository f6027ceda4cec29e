import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dequantize } from '../../../engine/gguf/formats/formats.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from '../../../engine/model/quantization.ts';
import { manyBlocks } from './many-blocks.ts';

type Golden = Readonly<Partial<Record<Quantization, { readonly blocks: string; readonly values: string }>>>;
const golden = JSON.parse(readFileSync('test/golden/dequantized-blocks.json', 'utf8')) as Golden;

for (const type of QUANTIZATION_NAMES.filter((name) => name !== 'F32')) {
  test(`${type} decodes as ggml does, bit by bit`, () => {
    const { blocks, values } = golden[type] ?? { blocks: '', values: '' };
    const out = new Float32Array(values.length / 8);
    assert.ok(out.length >= 128);
    dequantize(type, Buffer.from(blocks, 'hex'), out);
    assert.is(Buffer.from(out.buffer).toString('hex'), values);
  });
}

const hashes = JSON.parse(readFileSync('test/golden/decoded-hashes.json', 'utf8')) as Partial<
  Record<Quantization, string>
>;

for (const type of QUANTIZATION_NAMES.filter((name) => QUANTIZATIONS[name].block > 1)) {
  test(`${type}: 1024 random blocks, every point of a lattice among them, are decoded as ggml does`, () => {
    const { block, bytes } = QUANTIZATIONS[type];
    const blocks = manyBlocks(type);
    const out = new Float32Array((blocks.length / bytes) * block);
    dequantize(type, blocks, out);
    assert.is(createHash('sha256').update(new Uint8Array(out.buffer)).digest('hex'), hashes[type]);
  });
}

test('F32 is decoded unchanged at any offset of a buffer', () => {
  const bytes = new Uint8Array(Float32Array.of(9, 1.5, -0, 2 ** -149).buffer).subarray(4);
  const out = new Float32Array(3);
  dequantize('F32', bytes, out);
  assert.equal([...out], [1.5, -0, 2 ** -149]);
});

test('a Q4_K block with d = 1, e = 2 and first scale 3 and minimum 1 is decoded as by hand', () => {
  const block = new Uint8Array(144);
  block.set([0x00, 0x3c, 0x00, 0x40, 3], 0);
  block[4 + 4] = 1;
  block[16] = 0x5f;
  const out = new Float32Array(256);
  dequantize('Q4_K', block, out);
  assert.is(out[0], 3 * 15 - 2);
  assert.is(out[1], -2);
  assert.is(out[32], 0);
});

test('values that don’t match the blocks are refused', () => {
  assert.throws(
    () => dequantize('Q8_0', new Uint8Array(34), new Float32Array(64)),
    'Q8_0: 34 bytes don’t hold 64 values; 34 bytes hold 32',
  );
  assert.throws(() => dequantize('Q8_0', new Uint8Array(33), new Float32Array(32)), '33 bytes');
});

test.run();
