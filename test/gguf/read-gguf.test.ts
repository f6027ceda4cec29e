import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bufferSource } from '../../engine/gguf/byte-source.ts';
import { GgufError } from '../../engine/gguf/gguf-error.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { ggufBytes } from '../support/gguf-bytes.ts';
import { plainMetadata } from '../support/plain-metadata.ts';

type Writer = ReturnType<typeof ggufBytes>;
const read = (writer: Writer) => readGguf(bufferSource('m.gguf', writer.done()));

test('a header is read with metadata of every type and the tensors with their offsets', () => {
  const file = ggufBytes().start(2, 9);
  file.text('general.alignment').u32(4).u32(64);
  file.text('a.small').u32(1).raw(0xff);
  file
    .text('a.big')
    .u32(10)
    .u64(2n ** 63n);
  file.text('a.negative').u32(11).u64(-5n);
  file.text('a.float').u32(6).f32(0.5);
  file.text('a.flag').u32(7).u8(1);
  file.text('a.words').u32(9).u32(8).u64(2).text('Ġé').text('\ufeff');
  file.text('a.list').u32(9).u32(5).u64(2).u32(7).u32(8);
  file.text('a.flags').u32(9).u32(7).u64(2).u8(1).u8(0);
  file
    .tensor('w', [32, 3], 8, 64)
    .tensor('v', [5], 0, 0)
    .data(64 + 3 * 34, 64);
  const gguf = read(file);
  assert.is(gguf.version, 3);
  assert.is(gguf.alignment, 64);
  assert.is(gguf.dataOffset % 64, 0);
  assert.is(gguf.dataOffset + 64 + 3 * 34, gguf.fileBytes);
  assert.equal(
    [...plainMetadata(gguf.metadata)],
    [
      ['general.alignment', { type: 'uint32', value: 64 }],
      ['a.small', { type: 'int8', value: -1 }],
      ['a.big', { type: 'uint64', value: 2n ** 63n }],
      ['a.negative', { type: 'int64', value: -5n }],
      ['a.float', { type: 'float32', value: 0.5 }],
      ['a.flag', { type: 'bool', value: true }],
      ['a.words', { type: 'array', value: { of: 'string', values: ['Ġé', '\ufeff'] } }],
      ['a.list', { type: 'array', value: { of: 'int32', values: Int32Array.of(7, 8) } }],
      ['a.flags', { type: 'array', value: { of: 'bool', values: Uint8Array.of(1, 0) } }],
    ],
  );
  assert.equal(gguf.tensors, [
    { name: 'w', shape: [32, 3], type: 'Q8_0', offset: gguf.dataOffset + 64, bytes: 102 },
    { name: 'v', shape: [5], type: 'F32', offset: gguf.dataOffset, bytes: 20 },
  ]);
});

test('version 2 has the same layout, and a file may have no tensors', () => {
  const gguf = read(ggufBytes().start(0, 0, 2));
  assert.is(gguf.version, 2);
  assert.equal(gguf.tensors, []);
});

/** A file of one tensor, whose entry begins at byte 24. */
const one = (name: string, shape: readonly (number | bigint)[], type: number, offset: number | bigint): Writer =>
  ggufBytes().start(1, 0).tensor(name, shape, type, offset).data(256);

const MISTAKES: readonly [string, () => Writer, string][] = [
  ['an empty file', () => ggufBytes(), 'byte 0: the magic number needs 4 bytes, but the file ends at byte 0'],
  [
    'another kind of file',
    () => ggufBytes().raw(0x50, 0x4b, 3, 4),
    'byte 0: the file begins with 04034b50 (hexadecimal), not with "GGUF"',
  ],
  ['version 1', () => ggufBytes().start(0, 0, 1), 'byte 4: version 1 is not supported; convert the file to version 3'],
  ['version 4', () => ggufBytes().start(0, 0, 4), 'byte 4: version 4 is unknown; 2 and 3 are supported'],
  ['big endian', () => ggufBytes().start(0, 0, 0x03000000), 'byte 4: the file is big endian; only little endian'],
  [
    'too many tensors',
    () => ggufBytes().start(2n ** 64n - 1n, 0),
    'byte 8: the number of tensors is 18446744073709551615; at most 65536 is allowed',
  ],
  [
    'too many entries',
    () => ggufBytes().start(0, 5000),
    'byte 16: the number of metadata entries is 5000; at most 4096',
  ],
  [
    'a key longer than the file',
    () => ggufBytes().start(0, 1).u64(60_000),
    'byte 32: the key of metadata entry 1 of 1 needs 60000 bytes, but the file ends at byte 32',
  ],
  [
    'a key twice',
    () => ggufBytes().start(0, 2).text('k').u32(0).u8(1).text('k').u32(0).u8(1),
    'byte 38: metadata key "k" appears twice; keys are unique',
  ],
  [
    'an unknown type of value',
    () => ggufBytes().start(0, 1).text('k').u32(13),
    'byte 33: metadata "k" has type 13; types 0 (uint8) to 12 (float64) exist',
  ],
  [
    'a bool of 2',
    () => ggufBytes().start(0, 1).text('k').u32(7).u8(2),
    'byte 37: metadata "k" is a bool of 2; 0 and 1',
  ],
  [
    'an array larger than any',
    () =>
      ggufBytes()
        .start(0, 1)
        .text('k')
        .u32(9)
        .u32(8)
        .u64(2 ** 40),
    'byte 41: the length of metadata "k" is 1099511627776; at most 4194304 is allowed',
  ],
  [
    'an array longer than the file',
    () => ggufBytes().start(0, 1).text('k').u32(9).u32(10).u64(1_000_000),
    'byte 49: metadata "k" needs 8000000 bytes, but the file ends at byte 49',
  ],
  [
    'an array of arrays',
    () => ggufBytes().start(0, 1).text('k').u32(9).u32(9).u64(1).u32(9).u64(0),
    'byte 37: metadata "k" is an array of arrays; arrays of numbers, bools and strings are supported',
  ],
  [
    'an array with a bool of 3',
    () => ggufBytes().start(0, 1).text('k').u32(9).u32(7).u64(2).u8(1).u8(3),
    'byte 50: metadata "k" has a bool of 3; 0 and 1 are allowed',
  ],
  [
    'a text that is no UTF-8',
    () => ggufBytes().start(0, 1).text('k').u32(8).u64(1).raw(0xff),
    'byte 45: metadata "k" is not UTF-8',
  ],
  [
    'an alignment of 48',
    () => ggufBytes().start(0, 1).text('general.alignment').u32(4).u32(48),
    'byte 57: general.alignment in the metadata before this byte is uint32 48; a uint32 that is a power of two',
  ],
  [
    'a name of 65 bytes',
    () => one('x'.repeat(65), [1], 0, 0),
    'byte 24: the length of the name of tensor 1 of 1 is 65; at most 64 is allowed',
  ],
  ['no dimension', () => one('w', [], 0, 0), 'byte 33: tensor "w" has 0 dimensions; 1 to 4 are allowed'],
  [
    'five dimensions',
    () => one('w', [1, 1, 1, 1, 1], 0, 0),
    'byte 33: tensor "w" has 5 dimensions; 1 to 4 are allowed',
  ],
  ['a dimension of 0', () => one('w', [4, 0], 0, 0), 'byte 33: dimension 2 of tensor "w" is 0; at least 1 is needed'],
  [
    'a shape that overflows',
    () => one('w', [1024, 1024, 1024, 1024], 0, 0),
    'byte 33: tensor "w" has at least 1048576 values, which don’t fit in a file of 352 bytes',
  ],
  [
    'a format that is not supported',
    () => one('w', [256], 24, 0),
    'byte 45: tensor "w" has type 24 (I8), which is not supported; supported: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1',
  ],
  [
    'a format that does not exist',
    () => one('w', [256], 777, 0),
    'byte 45: tensor "w" has type 777, which is not supported',
  ],
  [
    'a row of half a block',
    () => one('w', [48, 2], 8, 0),
    'byte 24: tensor "w" has rows of 48 values, which is not a whole number of Q8_0 blocks of 32',
  ],
  [
    'a misaligned tensor',
    () => one('w', [4], 0, 8),
    'byte 49: tensor "w" begins at 8 of the data, which is not a multiple of the alignment 32',
  ],
  [
    'data that end too early',
    () => one('w', [64], 0, 32),
    'byte 24: tensor "w" has 256 bytes from byte 96, but the file ends at byte 320; it is truncated',
  ],
  [
    'two tensors of one name',
    () => ggufBytes().start(2, 0).tensor('w', [4], 0, 0).tensor('w', [4], 0, 32).data(64),
    'byte 57: tensor "w" appears twice; names are unique',
  ],
  [
    'tensors that overlap',
    () => ggufBytes().start(2, 0).tensor('b', [16], 0, 32).tensor('a', [16], 0, 0).data(96),
    'byte 24: tensors "a" and "b" overlap: both hold byte 128',
  ],
];

for (const [what, write, expected] of MISTAKES) {
  test(`${what} is a GgufError that names the byte`, () => {
    try {
      read(write());
    } catch (error) {
      if (!(error instanceof GgufError)) throw error;
      assert.ok(error.message.startsWith(`m.gguf: ${expected}`), error.message);
      assert.not.match(error.message, '\n');
      return;
    }
    assert.unreachable('nothing was thrown');
  });
}

test('a name of line breaks is quoted in one line and truncated', () => {
  const file = ggufBytes().start(0, 1).text('\n'.repeat(100)).u32(99);
  assert.throws(() => read(file), /^[^\n]*metadata "(\\n){57}…" has type 99[^\n]*$/);
});

test('the header of a 40 GB file is read without its weights', () => {
  const header = ggufBytes().start(1, 0).tensor('w', [1024, 10_000_000], 0, 0).done();
  const size = 96 + 4 * 1024 * 10_000_000;
  let bytesRead = 0;
  const gguf = readGguf({
    name: 'large.gguf',
    size,
    read(offset, length) {
      bytesRead += length;
      const bytes = new Uint8Array(length);
      bytes.set(header.subarray(offset, offset + length));
      return bytes;
    },
  });
  assert.is(gguf.tensors[0]?.bytes, 40_960_000_000);
  assert.ok(bytesRead <= 2 ** 18, String(bytesRead));
});

test.run();
