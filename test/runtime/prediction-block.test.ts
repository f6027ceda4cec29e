import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { dequantize } from '../../engine/gguf/formats/formats.ts';
import type { Metadata } from '../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { writeGguf } from '../../engine/gguf/write-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadSequences, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { Prediction, Transformer } from '../../engine/runtime/pass/transformer.ts';
import { goldenArchitecturePath } from '../support/golden-architectures.ts';
import { hearthHere } from '../support/run-script.ts';
import { nmse } from './nmse.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-prediction-'));
const kernels = openKernels({ implementation: 'auto', exact: true });
test.after(() => {
  kernels.close();
  rmSync(folder, { recursive: true });
});

/** Three layers, one dense, and a block that predicts the token after the next one. */
const MODEL = goldenArchitecturePath('glm4moe-F16');
const BLOCK = 'blk.3.';
const TOKENS = [5, 17, 80, 3, 41, 9, 200, 33, 12];

type Values = ReadonlyMap<string, { readonly shape: readonly number[]; readonly values: Float32Array }>;

const [METADATA, WEIGHTS] = withFile(MODEL, (source): [Metadata, Values] => {
  const { metadata, tensors } = readGguf(source);
  const all = tensors.map(({ name, shape, type, offset, bytes }) => {
    const values = new Float32Array(shape.reduce((product, length) => product * length, 1));
    dequantize(type, source.read(offset, bytes), values);
    return [name, { shape, values }] as const;
  });
  return [metadata, new Map(all)];
});
const valuesOf = (name: string): Float32Array => WEIGHTS.get(name)?.values ?? new Float32Array();

/** Writes a model in single precision. */
async function written(name: string, metadata: Metadata, tensors: Values): Promise<string> {
  const path = join(folder, `${name}.gguf`);
  const sources = [...tensors].map(([tensor, { shape, values }]) => ({
    ...{ name: tensor, shape, type: 'F32' as const },
    pieces: () => [new Uint8Array(values.buffer, values.byteOffset, values.byteLength)],
  }));
  await writeGguf(path, metadata, sources);
  return path;
}

function load(path: string): Transformer & { readonly prediction: Prediction } {
  const model = loadTransformer(path, { kernels, context: 32, kvCache: 'F32', predicts: true });
  return { ...model, prediction: model.prediction as Prediction };
}

/** x·w/√(mean of x² + 1e-5) */
function normed(x: Float32Array, weight: Float32Array): number[] {
  const power = x.reduce((sum, value) => sum + value * value, 0) / x.length;
  return Array.from(x, (value, index) => (value * (weight[index] as number)) / Math.sqrt(power + 1e-5));
}

test('a block is a layer on what joins each token’s embedding and the state of the token before', async () => {
  const size = valuesOf('output_norm.weight').length;
  const paging = { pages: 4, pageTokens: 16, folder };
  const sequences = loadSequences(MODEL, { kernels, context: 32, kvCache: 'F32', ...paging });
  const sequence = sequences.open();
  const states = await sequences.evaluate([{ sequence, tokens: TOKENS, logits: 'hidden' }]);
  const join = valuesOf(`${BLOCK}nextn.eh_proj.weight`);
  const embedding = valuesOf('token_embd.weight');
  const rows = new Float32Array(embedding.length);
  for (let place = 1; place < TOKENS.length; place++) {
    const token = TOKENS[place] as number;
    const both = [
      ...normed(embedding.subarray(token * size, (token + 1) * size), valuesOf(`${BLOCK}nextn.enorm.weight`)),
      ...normed(states.subarray((place - 1) * size, place * size), valuesOf(`${BLOCK}nextn.hnorm.weight`)),
    ];
    for (let row = 0; row < size; row++)
      rows[(place - 1) * size + row] = both.reduce((sum, x, i) => sum + x * (join[row * 2 * size + i] as number), 0);
  }
  // The same as a model of one layer, whose token 0 has the first of those rows as its embedding, and so on.
  const metadata = new Map(METADATA);
  for (const [key, value] of Object.entries({ block_count: 1, nextn_predict_layers: 0, leading_dense_block_count: 0 }))
    metadata.set(`glm4moe.${key}`, { type: 'uint32', value });
  const layer = [...WEIGHTS].filter(([name]) => name.startsWith(BLOCK) && !name.includes('nextn'));
  const alone = await written(
    'alone',
    metadata,
    new Map([
      ...layer.map(([name, tensor]) => [name.replace(BLOCK, 'blk.0.'), tensor] as const),
      ['token_embd.weight', { shape: [size, embedding.length / size], values: rows }],
      ['output.weight', WEIGHTS.get('output.weight') ?? { shape: [], values: embedding }],
      ['output_norm.weight', { shape: [size], values: valuesOf(`${BLOCK}nextn.shared_head_norm.weight`) }],
    ]),
  );
  const places = Array.from({ length: TOKENS.length - 1 }, (_, place) => place);
  const expected = loadTransformer(alone, { kernels, context: 32, kvCache: 'F32' }).evaluate(places);

  const { prediction, ...model } = load(MODEL);
  model.evaluate(TOKENS.slice(0, -1));
  // Read in two parts.
  prediction.evaluate(TOKENS.slice(0, 4));
  assert.is(prediction.position, 4);
  assert.ok(nmse(prediction.evaluate(TOKENS.slice(4)), expected) < 1e-10);
});

test('states of tokens that were refused are forgotten, and the block’s own come in their place', () => {
  const [first, second] = [load(MODEL), load(MODEL)];
  first.evaluate(TOKENS.slice(0, 5));
  first.verify([9, 1, 2]);
  first.rewind(6);
  second.evaluate(TOKENS.slice(0, 6));
  for (const tokens of [TOKENS.slice(0, 7), [33], [12]]) {
    const [found, expected] = [first, second].map(({ prediction }) => prediction.evaluate(tokens).slice());
    assert.ok(nmse(found as Float32Array, expected as Float32Array) < 1e-10);
  }
  const chained = second.prediction.evaluate([7]).slice();
  second.prediction.rewind(8);
  second.prediction.evaluate([12]);
  assert.equal(second.prediction.evaluate([7]), chained);
});

test('hearth generate --own-draft writes the same text, with what a block guesses right in fewer passes', async () => {
  // Layers add nothing, and the block reads the token alone: it knows what the model will write.
  const same = new Map(
    [...WEIGHTS].map(([name, { shape, values }]) => {
      if (/attn_output\.weight|ffn_down/.test(name)) return [name, { shape, values: values.map(() => 0) }] as const;
      if (name.endsWith('enorm.weight')) return [name, { shape, values: values.map(() => 1) }] as const;
      if (name.endsWith('shared_head_norm.weight'))
        return [name, { shape, values: valuesOf('output_norm.weight') }] as const;
      if (!name.endsWith('eh_proj.weight')) return [name, { shape, values }] as const;
      const [width = 0] = shape;
      return [name, { shape, values: values.map((_, i) => (i % width === Math.floor(i / width) ? 1 : 0)) }] as const;
    }),
  );
  const knowing = await written('knowing', METADATA, same);
  for (const [model, temperature] of [
    [MODEL, '0'],
    [MODEL, '0.9'],
    [knowing, '0'],
  ] as const) {
    const options = ['--prompt', 'ab', '--tokens', '24', '--temperature', temperature, '--kernels', 'auto', '--json'];
    const run = async (...more: readonly string[]) => {
      const { code, stdout, stderr } = await hearthHere('generate', '--model', model, ...options, ...more);
      assert.is(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const [plain, drafted] = [await run(), await run('--own-draft', '--draft-tokens', '3')];
    assert.equal(drafted.tokens, plain.tokens);
    const { drafted: guessed, accepted, passes } = drafted.speculation;
    assert.ok(guessed > 0, `${model}, ${temperature}: ${guessed} guesses`);
    assert.is(passes + accepted, plain.tokens.length - 1);
    if (model === knowing) assert.is(accepted, guessed);
  }
});

test('a model without such a block can’t draft by itself', async () => {
  const model = goldenArchitecturePath('llama-moe-F16');
  const { code, stderr } = await hearthHere('generate', '--model', model, '--prompt', 'a', '--own-draft');
  assert.is(code, 2);
  assert.match(stderr, /^[^\n]*: has no block that predicts further tokens .*; draft with --draft or --lookup\n$/);
});

test.run();
