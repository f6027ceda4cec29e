import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FAMILIES } from '../../engine/gguf/architectures/families.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { type LoadOptions, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { PartTime, Transformer } from '../../engine/runtime/pass/transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { floatVector, type MadeFile, madeFile } from './made-file.ts';
import { nmse } from './nmse.ts';

const test = suite('transformer');
let [folder, tiny] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  tiny = await madeFile({ folder, name: 'tiny' });
});
test.after(() => rmSync(folder, { recursive: true }));

/** Kept until the end, since nothing here is large. */
const load = (path: string, options: Omit<LoadOptions, 'kernels'> = {}, implementation?: 'native'): Transformer =>
  loadTransformer(path, {
    kernels: openKernels({ implementation: implementation ?? 'reference', threads: 2 }),
    warn: () => {},
    ...options,
  });

const problem = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return 'nothing was thrown';
};

const TOKENS = [3, 141, 59, 26, 53, 58, 97, 93];

test('tokens evaluated in any parts give the same logits as all at once on the reference kernels', () => {
  const transformer = load(tiny, { context: TOKENS.length });
  const whole = transformer.evaluateAll(TOKENS);
  const last = [...whole.subarray(-260)];
  fc.assert(
    fc.property(fc.subarray([1, 2, 3, 4, 5, 6, 7]), fc.boolean(), (cuts, all) => {
      transformer.rewind(0);
      let found: number[] = [];
      for (const [i, from] of [0, ...cuts].entries()) {
        const part = TOKENS.slice(from, cuts[i]);
        const logits = all ? transformer.evaluateAll(part) : transformer.evaluate(part);
        found = all ? [...found, ...logits] : [...logits];
      }
      assert.equal(found, all ? [...whole] : last);
      assert.is(transformer.position, TOKENS.length);
    }),
    { seed: 9, numRuns: 12 },
  );
});

if (NATIVE_SETS.length > 0) {
  test('a prompt longer than a batch has the same logits at once, in two parts, and with the last 40 one by one', () => {
    // 512 tokens go through the layers at once; the logits of all are computed 32 at a time.
    const tokens = Array.from({ length: 600 }, (_, i) => (37 * i) % 260);
    const transformer = load(tiny, { context: 600, kvCache: 'F32' }, 'native');
    const whole = [...transformer.evaluate(tokens)];
    transformer.rewind(0);
    transformer.evaluate(tokens.slice(0, 201));
    const parts = [...transformer.evaluate(tokens.slice(201))];
    transformer.rewind(560);
    for (const token of tokens.slice(560, -1)) transformer.evaluate([token]);
    const single = [...transformer.evaluate(tokens.slice(-1))];
    transformer.rewind(0);
    const all = transformer.evaluateAll(tokens).subarray(-260);
    for (const found of [parts, single, all]) assert.ok(nmse(found, whole) <= 1e-11, String(nmse(found, whole)));
  });

  test('a cache in F16 changes logits by its rounding, and not for the first token', () => {
    const [exact, half] = (['F32', 'F16'] as const).map((kvCache) =>
      load(tiny, { context: 40, kvCache }, 'native').evaluateAll([...TOKENS, ...TOKENS, ...TOKENS]),
    );
    assert.ok(exact !== undefined && half !== undefined);
    // Values have 11 bits: (2⁻¹²)² is 6e-8, some of which attention averages out.
    const error = nmse(half, exact);
    assert.ok(error > 1e-9 && error < 6e-6, String(error));
  });
}

test('rewinding removes all traces of the removed tokens', () => {
  const transformer = load(tiny, { context: 8 });
  transformer.evaluate([1, 2, 3]);
  const fresh = [...transformer.evaluate([4, 5])];
  transformer.rewind(3);
  transformer.evaluate([200, 201, 202]);
  transformer.rewind(3);
  assert.equal([...transformer.evaluate([4, 5])], fresh);
  assert.is(
    problem(() => transformer.rewind(6)),
    'RangeError: rewind to 6 of 5 tokens',
  );
});

test('more tokens than the context are refused with both numbers and without effect', () => {
  const transformer = load(tiny, { context: 4 });
  transformer.evaluate([1, 2, 3]);
  assert.is(
    problem(() => transformer.evaluate([4, 5])),
    'InputError: context: 5 tokens don’t fit into 4; ask for a longer context',
  );
  assert.is(transformer.position, 3);
  assert.is(transformer.evaluate([4]).length, 260);
});

test('an empty list and invalid tokens are refused', () => {
  const transformer = load(tiny, { context: 4 });
  assert.is(
    problem(() => transformer.evaluate([])),
    'RangeError: no tokens to evaluate',
  );
  assert.is(
    problem(() => transformer.evaluate([260])),
    'RangeError: embed: token 260 of a table of 260 rows',
  );
  assert.is(transformer.position, 0);
});

test('the default context is the trained one up to 4096, and a longer one gives a warning', async () => {
  const metadata: [string, MetadataValue][] = [['llama.context_length', { type: 'uint32', value: 7 }]];
  const path = await madeFile({ folder, name: 'short', metadata });
  const warnings: string[] = [];
  const warn = (line: string): void => {
    warnings.push(line);
  };
  assert.is(load(path, { warn }).contextLength, 7);
  assert.is(load(tiny, { warn }).contextLength, 4096);
  assert.equal(warnings, []);
  assert.is(load(path, { context: 8, warn }).contextLength, 8);
  assert.equal(warnings, [
    `${path}: a context of 8 tokens; the model was trained for 7, and longer texts are unreliable`,
  ]);
});

test('impossible contexts are refused', () => {
  assert.is(
    problem(() => load(tiny, { context: 0 })),
    'InputError: context: 0 is not a whole number of tokens from 1 on',
  );
  // Two layers of keys and values, two heads of 32 values of two bytes each: 512 bytes a token.
  assert.match(
    problem(() => load(tiny, { context: 2e15 })),
    /^InputError: context: 2000000000000000 tokens need 953\d+ GiB of KV cache; at most \d+ tokens fit into memory$/,
  );
});

test('with passParts each part is run on its own, in order, with the same logits', () => {
  const seen: PartTime[] = [];
  const traced = load(tiny, { context: 4, onPart: (part) => seen.push(part) });
  assert.equal([...traced.evaluate([1, 2])], [...load(tiny, { context: 4 }).evaluate([1, 2])]);
  assert.equal(
    seen.map(({ name, tokens }) => [name, tokens]),
    [
      ['embedding', 2],
      ['layer 0', 2],
      ['layer 1', 2],
      ['output', 2],
    ],
  );
  const times = seen.flatMap(({ start, end }) => [start, end]);
  assert.equal(
    times,
    [...times].sort((a, b) => a - b),
  );
});

const text = (value: string): MetadataValue => ({ type: 'string', value });
const amount = (value: number): MetadataValue => ({ type: 'float32', value });

test('linear scaling divides angles like divisors of 4, and is the default type', async () => {
  const name = 'scaled';
  const made = async (metadata: [string, MetadataValue][], divisors: readonly number[] = []): Promise<number[]> => {
    const more = divisors.length === 0 ? [] : [floatVector('rope_freqs.weight', divisors)];
    const path = await madeFile({ folder, name, metadata, edit: (list) => [...list, ...more] });
    return [...load(path, { context: 8 }).evaluate(TOKENS)];
  };
  const factor: [string, MetadataValue] = ['llama.rope.scaling.factor', amount(4)];
  const divided = await made([], new Array<number>(16).fill(4));
  const plain = await made([]);
  assert.not.equal(divided, plain);
  assert.equal(await made([['llama.rope.scaling.type', text('linear')], factor]), divided);
  assert.equal(await made([factor]), divided);
  assert.equal(await made([['llama.rope.scale_linear', amount(4)]]), divided);
  assert.equal(await made([['llama.rope.scaling.type', text('none')], factor]), plain);
  assert.equal(await made([factor], new Array<number>(16).fill(0.25)), plain);
});

const MISTAKES: readonly [string, Omit<MadeFile, 'folder'>, string][] = [
  [
    'a scaling that is not there',
    { name: 'su', metadata: [['llama.rope.scaling.type', text('su')]] },
    'metadata llama.rope.scaling.type: "su" is not supported; supported: none, linear, yarn, longrope',
  ],
  [
    'an unknown architecture',
    { name: 'other', metadata: [['general.architecture', text('gemma2')]] },
    `metadata general.architecture: "gemma2" is not supported; supported: ${Object.keys(FAMILIES).join(', ')}`,
  ],
  [
    'internlm2 without an output matrix',
    { name: 'tied', shape: { architecture: 'internlm2', tiedEmbeddings: true } },
    'metadata general.architecture: internlm2 has an output matrix of its own; output.weight is missing',
  ],
  [
    'a missing tensor',
    { name: 'cut', edit: (list) => list.filter((tensor) => tensor.name !== 'blk.1.ffn_down.weight') },
    'tensor blk.1.ffn_down.weight is missing; llama of 2 layers has it',
  ],
  [
    'divisors of another length',
    { name: 'divisors', edit: (list) => [...list, floatVector('rope_freqs.weight', [1, 2])] },
    'tensor "rope_freqs.weight": is 2; the metadata require 16',
  ],
];

for (const [what, file, expected] of MISTAKES) {
  test(`${what} is refused in one line`, async () => {
    const path = await madeFile({ ...file, folder });
    assert.is(
      problem(() => load(path)),
      `InputError: ${path}: ${expected}`,
    );
  });
}

test.run();
