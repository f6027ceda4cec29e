import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Gguf, GgufTensor } from '../../../engine/gguf/gguf.ts';
import { TINY_SHAPE } from '../../../engine/gguf/make/made-model.ts';
import { metadataFields } from '../../../engine/gguf/metadata-fields.ts';
import { pinnedRanges } from '../../../engine/runtime/weights/pinned-ranges.ts';
import { describeParts, type WeightsLayout, weightsLayout } from '../../../engine/runtime/weights/weights-layout.ts';

const tensor = (name: string, offset: number, bytes: number): GgufTensor => ({
  name,
  offset,
  bytes,
  shape: [bytes],
  type: 'F32',
});
const gguf = (...tensors: readonly GgufTensor[]): Gguf => ({
  ...{
    file: 'm.gguf',
    version: 3,
    metadata: new Map(),
    fields: metadataFields('m.gguf', new Map()),
    alignment: 32,
    dataOffset: 0,
    fileBytes: 10_000,
  },
  tensors,
});

test('a layer is one range including the padding of its tensors, or several', () => {
  const layout = weightsLayout(
    gguf(
      tensor('token_embd.weight', 0, 64),
      tensor('blk.0.attn_q.weight', 64, 33),
      tensor('blk.0.ffn_up.weight', 128, 64),
      tensor('blk.1.attn_q.weight', 192, 64),
      tensor('output.weight', 256, 64),
      tensor('blk.1.ffn_up.weight', 320, 64),
      tensor('output_norm.weight', 384, 32),
    ),
    { ...TINY_SHAPE, layers: 2, tiedEmbeddings: false },
  );
  assert.equal(layout.ranges('embedding'), [{ from: 0, to: 64 }]);
  assert.equal(layout.ranges(0), [{ from: 64, to: 192 }]);
  assert.equal(layout.ranges(1), [
    { from: 192, to: 256 },
    { from: 320, to: 384 },
  ]);
  assert.equal(layout.ranges('output'), [
    { from: 256, to: 320 },
    { from: 384, to: 416 },
  ]);
  assert.throws(() => layout.ranges(2), 'there is no layer 2; the model has 2');
});

test('a tied output is the range of the embedding', () => {
  const tensors = [tensor('token_embd.weight', 0, 64), tensor('output_norm.weight', 64, 32)];
  const layout = weightsLayout(gguf(...tensors), { ...TINY_SHAPE, layers: 0, tiedEmbeddings: true });
  assert.equal(layout.ranges('output'), [{ from: 0, to: 96 }]);
});

test('consecutive layers are described as one range', () => {
  assert.is(describeParts([0, 1, 2, 5, 'output']), 'layers 0–2, layer 5, output');
});

const MIB = 2 ** 20;
/** Layers of 8 MiB, and an output of 10 MiB after four of them. */
const LAYERS: WeightsLayout = {
  layers: 4,
  ranges: (part) => {
    const from = part === 'output' ? 32 * MIB : 8 * MIB * Number(part);
    return [{ from, to: from + (part === 'output' ? 10 : 8) * MIB }];
  },
};
const mebibytes = (bytes: number): [number, number][] =>
  pinnedRanges(
    LAYERS,
    [
      [0, 1],
      [2, 3, 'output'],
    ],
    bytes * MIB,
  ).map(({ from, to }) => [from / MIB, to / MIB]);

test('the output is pinned first, then an equal prefix of every window, in whole extents of 2 MiB', () => {
  assert.equal(mebibytes(6), [[32, 38]]);
  assert.equal(mebibytes(18), [
    [32, 42],
    [0, 4],
    [16, 20],
  ]);
  assert.equal(mebibytes(16), [
    [32, 42],
    [0, 2],
    [16, 20],
  ]);
  assert.equal(mebibytes(42).length, 5);
});

test.run();
