import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { columnWeights, type Importance, readImportance, writeImportance } from '../../engine/gguf/importance.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { plainMetadata } from '../support/plain-metadata.ts';

const test = suite('importance matrices');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-importance-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const IMPORTANCE: Importance = {
  datasets: ['wiki.txt'],
  chunks: 2,
  chunkTokens: 128,
  inputs: new Map([
    ['blk.1.ffn_up.weight', { squares: Float32Array.of(1, 4, 9), tokens: 256 }],
    ['blk.0.ffn_up.weight', { squares: Float32Array.of(0, 0.5, 2), tokens: 256 }],
  ]),
};

test('the file has the keys, names and shapes of llama.cpp, and is read back', async () => {
  const path = join(folder, 'i.gguf');
  await writeImportance(path, IMPORTANCE);
  const { metadata, tensors } = withFile(path, readGguf);
  assert.equal(
    [...plainMetadata(metadata)],
    [
      ['general.type', { type: 'string', value: 'imatrix' }],
      ['imatrix.datasets', { type: 'array', value: { of: 'string', values: ['wiki.txt'] } }],
      ['imatrix.chunk_count', { type: 'uint32', value: 2 }],
      ['imatrix.chunk_size', { type: 'uint32', value: 128 }],
    ],
  );
  assert.equal(
    tensors.map(({ name, shape, type }) => [name, shape, type]),
    ['blk.0.ffn_up.weight', 'blk.1.ffn_up.weight'].flatMap((name) => [
      [`${name}.in_sum2`, [3], 'F32'],
      [`${name}.counts`, [1], 'F32'],
    ]),
  );
  // Two dimensions each, of which readers here drop those of length 1.
  const bytes = readFileSync(path);
  for (const { name } of tensors) assert.is(bytes.readUInt32LE(bytes.indexOf(name) + name.length), 2, name);
  const read = withFile(path, readImportance);
  assert.equal(read, { ...IMPORTANCE, inputs: new Map([...IMPORTANCE.inputs].reverse()) });
});

/** A file of the given tensors of F32. */
async function written(name: string, type: string, tensors: Readonly<Record<string, readonly number[]>>) {
  const path = join(folder, name);
  const sources = Object.entries(tensors).map(
    ([tensor, values]): TensorSource => ({
      ...{ name: tensor, shape: [values.length], type: 'F32' },
      pieces: () => [new Uint8Array(Float32Array.from(values).buffer)],
    }),
  );
  const metadata = new Map<string, MetadataValue>([['general.type', { type: 'string', value: type }]]);
  await writeGguf(path, metadata, sources);
  return path;
}

test('other files are refused with what is wrong', async () => {
  const expect = async (tensors: Readonly<Record<string, readonly number[]>>, message: RegExp, type = 'imatrix') => {
    const path = await written('bad.gguf', type, tensors);
    assert.throws(() => withFile(path, readImportance), message);
    rmSync(path);
  };
  const [squares, counts] = ['a.weight.in_sum2', 'a.weight.counts'];
  await expect({ [squares]: [1], [counts]: [1] }, /is not an importance matrix; make one with/, 'model');
  await expect({ [squares]: [1] }, /tensor a\.weight\.counts is missing/);
  await expect({ [squares]: [1, 2], [counts]: [1, 1] }, /a\.weight has the inputs of 2 experts; only dense/);
  await expect({ [squares]: [Number.NaN], [counts]: [1] }, /a\.weight\.in_sum2 has a value that is negative or not/);
  await expect({ [squares]: [-1], [counts]: [1] }, /negative or not finite/);
  await expect({ other: [1] }, /holds no tensor NAME\.in_sum2/);
});

test('column weights are 1 on average, and none is zero', () => {
  const weights = columnWeights(IMPORTANCE, 'blk.0.ffn_up.weight', 3);
  assert.ok(weights);
  const [zero, half, two] = weights;
  assert.ok(zero !== undefined && zero > 0 && zero < 2e-4);
  assert.ok(Math.abs((half as number) + (two as number) + zero - 3) < 1e-6);
  assert.ok(Math.abs((two as number) / (half as number) - 4) < 1e-2);
  assert.is(columnWeights(IMPORTANCE, 'blk.7.ffn_up.weight', 3), undefined);
  assert.throws(() => columnWeights(IMPORTANCE, 'blk.0.ffn_up.weight', 4), /has 3 columns, the model 4/);
});

test('a matrix that no token reached has no weights', () => {
  const inputs = new Map([['a', { squares: [0, 0], tokens: 0 }]]);
  assert.is(columnWeights({ ...IMPORTANCE, inputs }, 'a', 2), undefined);
});

test.run();
