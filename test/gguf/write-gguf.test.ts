import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import type { Metadata } from '../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { plainMetadata } from '../support/plain-metadata.ts';

const test = suite('write-gguf');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'gguf-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const METADATA: Metadata = new Map([
  ['general.architecture', { type: 'string', value: 'llama' }],
  ['a.uint8', { type: 'uint8', value: 255 }],
  ['a.int16', { type: 'int16', value: -2 }],
  ['a.float32', { type: 'float32', value: 0.5 }],
  ['a.float64', { type: 'float64', value: 0.1 }],
  ['a.uint64', { type: 'uint64', value: 2n ** 64n - 1n }],
  ['a.int64', { type: 'int64', value: -(2n ** 63n) }],
  ['a.bool', { type: 'bool', value: true }],
  ['a.texts', { type: 'array', value: { of: 'string', values: ['', 'Ġé', '\ufeff東'] } }],
  ['a.bools', { type: 'array', value: { of: 'bool', values: Uint8Array.of(0, 1) } }],
  ['a.floats', { type: 'array', value: { of: 'float64', values: Float64Array.of(0.1, -1) } }],
  ['a.bigs', { type: 'array', value: { of: 'uint64', values: BigUint64Array.of(1n, 2n ** 63n) } }],
]);

const tensor = (name: string, bytes: number, pieces: () => Iterable<Uint8Array>): TensorSource => ({
  name,
  shape: [bytes],
  type: 'F16',
  pieces,
});

test('a written file is read back with its tensors at multiples of 32 in the given order', async () => {
  const path = join(folder, 'm.gguf');
  const first = [Uint8Array.of(1, 2, 3, 4), Uint8Array.of(5, 6)];
  await writeGguf(path, METADATA, [
    tensor('first', 3, () => first),
    { name: 'second', shape: [32, 2], type: 'Q8_0', pieces: () => [new Uint8Array(68).fill(7)] },
  ]);
  const gguf = withFile(path, readGguf);
  assert.equal(plainMetadata(gguf.metadata), METADATA);
  const { dataOffset, fileBytes, alignment } = gguf;
  assert.is(alignment, 32);
  assert.is(dataOffset % 32, 0);
  assert.is(fileBytes, dataOffset + 32 + 96);
  assert.equal(gguf.tensors, [
    { name: 'first', shape: [3], type: 'F16', offset: dataOffset, bytes: 6 },
    { name: 'second', shape: [32, 2], type: 'Q8_0', offset: dataOffset + 32, bytes: 68 },
  ]);
  const bytes = readFileSync(path);
  assert.equal([...bytes.subarray(dataOffset, dataOffset + 8)], [1, 2, 3, 4, 5, 6, 0, 0]);
  assert.equal([...bytes.subarray(dataOffset + 98, dataOffset + 101)], [7, 7, 0]);
});

test('each piece is written before the next one is requested', async () => {
  const path = join(folder, 'streamed.gguf');
  const sizes: number[] = [];
  const pieces = function* () {
    for (let piece = 0; piece < 4; piece++) {
      yield new Uint8Array(2 ** 20);
      sizes.push(readFileSync(temporaryPath(path)).length);
    }
  };
  await writeGguf(path, new Map(), [tensor('w', 2 ** 21, pieces)]);
  assert.equal(
    sizes.map((size) => Math.floor(size / 2 ** 20)),
    [1, 2, 3, 4],
  );
});

test('a failure leaves no new file and does not change an existing one', async () => {
  const path = join(folder, 'kept.gguf');
  await writeGguf(path, new Map(), [tensor('w', 1, () => [new Uint8Array(2)])]);
  const before = readFileSync(path);
  const failing = writeGguf(path, METADATA, [tensor('w', 4, () => [new Uint8Array(6)])]);
  await failing.then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'tensor w has 6 bytes; its shape needs 8'),
  );
  assert.equal(readFileSync(path), before);
  assert.ok(!existsSync(temporaryPath(path)));
});

test('a missing folder is an input error', async () => {
  const path = join(folder, 'nowhere', 'm.gguf');
  await writeGguf(path, new Map(), []).then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, `${path}: there is no such folder; create it first`),
  );
  assert.not(readdirSync(folder).includes('nowhere'));
});

test.run();
