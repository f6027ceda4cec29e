import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { fileMix } from '../../../engine/gguf/file-type.ts';
import { dequantize, quantize } from '../../../engine/gguf/formats/formats.ts';
import type { Importance } from '../../../engine/gguf/importance.ts';
import { TINY, TINY_SHAPE } from '../../../engine/gguf/make/made-model.ts';
import { quantizeGguf } from '../../../engine/gguf/quantize/quantize-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { namedTensors } from '../../../engine/gguf/tensor-names.ts';
import { type FileMix, fileQuantization } from '../../../engine/model/mix.ts';
import { madeFile } from '../../runtime/made-file.ts';

const test = suite('quantize a GGUF file');
let folder = '';
let original = '';
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-quantize-'));
  original = await madeFile({
    folder,
    name: 'original',
    mix: 'F16',
    metadata: [['general.author', { type: 'string', value: 'somebody' }]],
  });
});
test.after(() => rmSync(folder, { recursive: true }));

const SHAPE = { ...TINY_SHAPE, vocabularySize: 260 };
const as = (mix: FileMix, name: string, more: { input?: string; importance?: Importance; requantize?: boolean } = {}) =>
  quantizeGguf({
    input: more.input ?? original,
    path: join(folder, name),
    mix,
    importance: more.importance && { matrix: more.importance, file: 'i.gguf' },
    requantize: more.requantize ?? false,
  });

function valuesOf(path: string, name: string): { values: Float32Array; bytes: Buffer } {
  const tensor = withFile(path, readGguf).tensors.find((one) => one.name === name);
  if (tensor === undefined) throw new Error(name);
  const bytes = readFileSync(path).subarray(tensor.offset, tensor.offset + tensor.bytes);
  const values = new Float32Array(tensor.shape.reduce((product, length) => product * length, 1));
  dequantize(tensor.type, bytes, values);
  return { values, bytes };
}

test('every tensor has the format of the mix, and metadata stay but for those that tell formats', async () => {
  const tensors = await as('Q3_K_M', 'q3.gguf');
  const expected = namedTensors(SHAPE).map((tensor) => fileQuantization(tensor, SHAPE, 'Q3_K_M'));
  const [before, after] = [original, join(folder, 'q3.gguf')].map((path) => withFile(path, readGguf));
  assert.equal(
    after?.tensors.map(({ name, shape, type }) => ({ name, shape, type })),
    before?.tensors.map(({ name, shape }, index) => ({ name, shape, type: expected[index] })),
  );
  assert.equal(
    tensors.map(({ to }) => to),
    expected,
  );
  assert.ok(expected.includes('Q3_K') && expected.includes('Q4_K') && expected.includes('Q5_K'));
  const own = ['general.file_type', 'general.quantization_version'];
  const others = (gguf: typeof before) => [...(gguf?.metadata ?? [])].filter(([key]) => !own.includes(key));
  assert.equal(others(after), others(before));
  assert.is(after?.metadata.get('general.file_type')?.value, 12);
  assert.is(after?.metadata.get('general.quantization_version')?.value, 2);
});

test('the bytes are those of the encoder, and the errors those of the bytes', async () => {
  const tensors = await as('Q2_K', 'q2.gguf');
  const name = 'blk.1.ffn_down.weight';
  const [given, kept] = [valuesOf(original, name), valuesOf(join(folder, 'q2.gguf'), name)];
  const even = new Float32Array(TINY.ffnSize).fill(1);
  assert.ok(Buffer.from(quantize('Q2_K', given.values, even)).equals(kept.bytes));
  const squares = given.values.reduce((sum, value) => sum + value * value, 0);
  const error = given.values.reduce((sum, value, index) => sum + (value - (kept.values[index] as number)) ** 2, 0);
  const found = tensors.find((tensor) => tensor.name === name);
  assert.ok(Math.abs((found?.error ?? 0) / Math.sqrt(error / squares) - 1) < 1e-9);
  assert.is(found?.weightedError, undefined);
  assert.equal([found?.bytesBefore, found?.bytes], [256 * 512 * 2, (256 * 512 * 84) / 256]);
});

test('a file of a format without a number has that of a mix of the format, and vectors are copied as they are', async () => {
  await as('Q3_K', 'uniform.gguf');
  const path = join(folder, 'uniform.gguf');
  const gguf = withFile(path, readGguf);
  // Q3_K_S, as llama-quantize --pure writes; the file's matrices tell that it is no mix.
  assert.is(gguf.metadata.get('general.file_type')?.value, 11);
  assert.is(fileMix(gguf), 'Q3_K');
  const name = 'blk.0.attn_norm.weight';
  assert.ok(valuesOf(path, name).bytes.equals(valuesOf(original, name).bytes));
});

test('what is quantized already is refused, or quantized again from its values where that is wished', async () => {
  await as('Q8_0', 'q8.gguf');
  const input = join(folder, 'q8.gguf');
  const why = /q8\.gguf: tensor token_embd\.weight: is Q8_0 already, .*; give the original weights, or --requantize$/;
  await as('Q4_0', 'again.gguf', { input }).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, why),
  );
  assert.is(readdirSync(folder).includes('again.gguf'), false);
  await as('F32', 'again.gguf', { input, requantize: true });
  const name = 'blk.0.ffn_up.weight';
  assert.equal(valuesOf(join(folder, 'again.gguf'), name).values, valuesOf(input, name).values);
});

test('with an importance matrix the columns that count have the smaller error, and the file says so', async () => {
  const inputs = new Map(
    namedTensors(SHAPE)
      .filter(({ rows }) => rows > 1)
      .map(({ name, columns }) => {
        const squares = Float32Array.from({ length: columns }, (_, column) => (column % 8 === 0 ? 100 : 1));
        return [name, { squares, tokens: 10 }] as const;
      }),
  );
  const importance = { datasets: ['some.txt'], chunks: 3, chunkTokens: 64, inputs };
  const even = await as('Q2_K', 'even.gguf');
  const weighted = await as('Q2_K', 'weighted.gguf', { importance });
  const name = 'blk.0.ffn_gate.weight';
  const given = valuesOf(original, name).values;
  const errorOf = (file: string): number =>
    valuesOf(join(folder, file), name).values.reduce(
      (sum, value, index) => (index % 8 === 0 ? sum + (value - (given[index] as number)) ** 2 : sum),
      0,
    );
  assert.ok(
    errorOf('weighted.gguf') < 0.6 * errorOf('even.gguf'),
    String(errorOf('weighted.gguf') / errorOf('even.gguf')),
  );
  const [one, other] = [even, weighted].map((tensors) => tensors.find((tensor) => tensor.name === name));
  assert.ok((other?.error ?? 0) > (one?.error ?? 0));
  assert.ok((other?.weightedError ?? 1) < (other?.error ?? 0));
  const { metadata } = withFile(join(folder, 'weighted.gguf'), readGguf);
  assert.is(metadata.get('quantize.imatrix.dataset')?.value, 'some.txt');
  assert.is(metadata.get('quantize.imatrix.chunks_count')?.value, 3);
});

test('an importance matrix of another model, and a weight that is no number, are errors that leave nothing', async () => {
  const before = readdirSync(folder).length;
  const inputs = new Map([['blk.0.attn_q.weight', { squares: new Float32Array(128).fill(1), tokens: 1 }]]);
  const importance = { datasets: [], chunks: 1, chunkTokens: 1, inputs };
  await as('Q4_K_M', 'x.gguf', { importance }).then(
    () => assert.unreachable(),
    ({ message }: Error) =>
      assert.match(message, /^blk\.0\.attn_q\.weight: .* 128 columns, the model 256; is it of another/),
  );
  const input = await madeFile({
    folder,
    name: 'broken',
    mix: 'F32',
    edit: (tensors) =>
      tensors.map((tensor) =>
        tensor.name === 'blk.1.attn_k.weight'
          ? { ...tensor, pieces: () => [new Uint8Array(new Float32Array(64 * 256).fill(Number.NaN).buffer)] }
          : tensor,
      ),
  });
  await as('Q4_K_M', 'x.gguf', { input }).then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.match(message, /broken\.gguf: tensor blk\.1\.attn_k\.weight: Q4_K: value 0 is NaN/),
  );
  assert.is(readdirSync(folder).length, before + 1);
});

test.run();
