import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { kvBytesPerToken } from '../../engine/model/kv-format.ts';
import { type LoadOptions, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { createRunRecorder } from '../../engine/trace/run-recorder.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { testIf } from '../support/needs.ts';
import { madeFile } from './made-file.ts';
import { nmse } from './nmse.ts';

const LAYERS = 2;
let [folder, tiny] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  tiny = await madeFile({ folder, name: 'tiny' });
});
test.after(() => rmSync(folder, { recursive: true }));

const load = (
  options: Omit<LoadOptions, 'kernels'>,
  implementation: 'reference' | 'native' = 'reference',
  exact = true,
) => loadTransformer(tiny, { kernels: openKernels({ implementation, threads: 2, exact }), warn: () => {}, ...options });

/**
 * If prompts attend in 16 bits, weights are rounded relative to the largest score so far, and evicted pages come in another
 * order than in a whole cache.
 */
const MOST_ERROR = { exact: 1e-10, rounded: 1e-7 } as const;

/**
 * Memory for `count` slices, each one layer's part of a page. Two heads of 32 F16 keys and values, in blocks of 64
 * tokens.
 */
const slices = (count: number, pageTokens: number): number => count * Math.ceil(pageTokens / 64) * 64 * 256;

const tokensOf = (count: number): number[] => Array.from({ length: count }, (_, i) => (37 * i + 11) % 260);

test('the logits of a paged context equal those of a whole one for any pages and memory, token by token', () => {
  const tokens = tokensOf(24);
  const whole = load({ context: 24, kvCache: 'F16' });
  const expected = tokens.map((token) => [...whole.evaluate([token])]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: LAYERS + 2, max: 24 }), (pageTokens, count) => {
      const paging = { memory: slices(count, pageTokens), pageTokens, folder };
      const paged = load({ context: 24, kvCache: 'F16', paging });
      for (const [i, token] of tokens.entries()) {
        const error = nmse(paged.evaluate([token]), expected[i] as number[]);
        assert.ok(error <= 1e-11, `token ${i}: ${error}`);
      }
    }),
    { seed: 2, numRuns: 4 },
  );
});

const withNative = (name: string, body: () => void): void =>
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', name, body);

test('a quantized cache in pages gives the logits of a whole one', async () => {
  const shape = { layers: LAYERS, hiddenSize: 64, ffnSize: 96, heads: 2, kvHeads: 1, headSize: 32 };
  const path = await madeFile({ folder, name: 'whole-blocks', shape });
  const tokens = tokensOf(300);
  const implementations = NATIVE_SETS.length > 0 ? (['reference', 'native'] as const) : (['reference'] as const);
  for (const implementation of implementations) {
    for (const [kvCache, rounding] of [
      ['Q8_0', 'exact'],
      ['Q4_0', 'exact'],
      ['Q8_0', 'rounded'],
      ['Q4_0', 'rounded'],
    ] as const) {
      const kernels = openKernels({ implementation, threads: 2, exact: rounding === 'exact' });
      const common = { kernels, context: 300, kvCache, warn: () => {} };
      const sliceBytes = 64 * kvBytesPerToken({ kvHeads: 1, headSize: 32 }, kvCache);
      const paging = { memory: (2 * LAYERS + 2) * sliceBytes, pageTokens: 64, folder };
      const [whole, paged] = [loadTransformer(path, common), loadTransformer(path, { ...common, paging })];
      for (const count of [200, 1, 99]) {
        const some = tokens.slice(whole.position, whole.position + count);
        const error = nmse(paged.evaluate(some), whole.evaluate(some));
        assert.ok(error <= MOST_ERROR[rounding], `${implementation}, ${rounding}, ${kvCache}, ${count}: ${error}`);
      }
      kernels.close();
    }
  }
});

for (const rounding of ['exact', 'rounded'] as const)
  withNative(
    `native, ${rounding}: a prompt over many pages, then rewound into an evicted one, and on from there`,
    () => {
      const tokens = tokensOf(700);
      const exact = rounding === 'exact';
      const whole = load({ context: 700 }, 'native', exact);
      const paging = { memory: slices(3 * LAYERS + 2, 64), pageTokens: 64, folder };
      const paged = load({ context: 700, paging }, 'native', exact);
      const agree = (some: readonly number[]): void => {
        const [found, expected] = [paged.evaluate(some), whole.evaluate(some)];
        assert.ok(nmse(found, expected) <= MOST_ERROR[rounding], String(nmse(found, expected)));
        assert.is(found.indexOf(Math.max(...found)), expected.indexOf(Math.max(...expected)));
      };
      agree(tokens.slice(0, 600));
      for (const token of tokens.slice(600, 650)) agree([token]);
      for (const transformer of [paged, whole]) transformer.rewind(100);
      for (const token of tokens.slice(300, 400)) agree([token]);
      const [all, expected] = [paged.evaluateAll(tokens.slice(0, 90)), whole.evaluateAll(tokens.slice(0, 90))];
      assert.ok(nmse(all, expected) <= MOST_ERROR[rounding]);
    },
  );

withNative('the trace shows evictions, pages that come back before their layer, and what is in memory', () => {
  const recorder = createRunRecorder('here', performance.now() / 1000);
  const paging = { memory: slices(5 * LAYERS + 2, 64), pageTokens: 64, folder };
  const paged = load({ context: 640, paging, recorder }, 'native');
  paged.evaluate(tokensOf(600));
  const evictionsNow = () => recorder.trace().spans.filter(({ name }) => name === 'eviction');
  // A page is written while tokens are computed; how long that takes depends on the disk.
  for (const token of tokensOf(30)) {
    paged.evaluate([token]);
    if (evictionsNow().length === 6 * LAYERS) break;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  paged.evaluate(tokensOf(1));
  const { spans, counters } = recorder.trace();
  const evictions = evictionsNow().map(({ args }) => args.what);
  // Ten pages, of which memory holds five and keeps four.
  const pages = [0, 1, 2, 3, 4, 5];
  assert.equal(
    evictions,
    pages.flatMap((page) => [0, 1].map((layer) => `KV page ${page} of layer ${layer}`)),
  );
  const reads = spans.filter(({ name, lane }) => name === 'prefetch' && lane === 'disk');
  const lastToken = reads.slice(-2 * pages.length).map(({ args }) => args.what);
  assert.equal(
    lastToken,
    [0, 1].flatMap((layer) => pages.map((page) => `KV page ${page} of layer ${layer}`)),
  );
  assert.ok(reads.every(({ args }) => args.bytes === slices(1, 64)));
  const [counter] = counters;
  assert.is(counter?.name, 'KV cache in memory (bytes)');
  assert.is(Math.max(...(counter?.samples ?? []).map(({ value }) => value)), slices(5 * LAYERS, 64));
  for (const wait of spans.filter(({ name }) => name.startsWith('waits for KV'))) {
    const overlaps = spans.some(
      ({ lane, cause, start, end }) => lane === 'cpu' && cause === 'compute' && start < wait.end && wait.start < end,
    );
    assert.not(overlaps);
  }
});

withNative(
  'a context beyond the memory of the machine is one of the disk; too little memory for a page is said',
  () => {
    const paging = { memory: slices(LAYERS + 2, 64), pageTokens: 64, folder };
    assert.is(load({ context: 2 ** 31, paging }, 'native').contextLength, 2 ** 31);
    const tooFew = { ...paging, memory: slices(LAYERS + 1, 64) };
    assert.throws(
      () => load({ context: 2 ** 31, paging: tooFew }, 'native'),
      /KV memory: 48\.0 KiB is too little; at least 1 MiB are needed \(one page of 64 tokens in 2 layers, and 2 slices/,
    );
  },
);

test.run();
