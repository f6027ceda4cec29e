import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import type { CacheFile, KeyValueCache } from '../../engine/kernels/key-value-cache.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import { NATIVE_SETS } from './native-sets.ts';

const test = suite('cache file');
const implementations = NATIVE_SETS.length > 0 ? (['reference', 'native'] as const) : (['reference'] as const);
const kernelsOf = implementations.map((implementation) => openKernels({ implementation, threads: 1 }));
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => {
  for (const kernels of kernelsOf) kernels.close();
  rmSync(folder, { recursive: true });
});

/** Writes one value; attention over a single position returns it. */
const put = (kernels: Kernels, cache: KeyValueCache, value: number): void => {
  const width = cache.kvHeads * cache.headSize;
  const values = kernels.vector(new Array<number>(width).fill(value));
  kernels.run([{ kind: 'store', cache, keys: values, values, position: 0 }]);
};
const get = (kernels: Kernels, cache: KeyValueCache): number => {
  const width = cache.kvHeads * cache.headSize;
  const [queries, y] = [kernels.vector(width), kernels.vector(width)];
  kernels.run([{ kind: 'attention', cache, queries, y, heads: cache.kvHeads, position: 0, scale: 1 }]);
  return y.values[width - 1] as number;
};

test('a copy of a cache has its values, and is apart from it', () => {
  for (const kernels of kernelsOf) {
    const shape = { type: 'F16', kvHeads: 2, capacity: 3, headSize: 32 } as const;
    const [one, copy] = [kernels.cache(shape), kernels.cache(shape)];
    put(kernels, one, 5);
    kernels.copyCache(one, copy);
    put(kernels, one, 7);
    assert.equal([get(kernels, one), get(kernels, copy)], [7, 5], kernels.name);
  }
});

const opened = (
  kernels: Kernels,
  headSize: number,
  type: KvFormat = 'F16',
): { file: CacheFile; make: () => KeyValueCache } => {
  const make = (): KeyValueCache => kernels.cache({ type, kvHeads: 2, capacity: 64, headSize });
  return { file: kernels.cacheFile({ folder, ram: 0 }, make()), make };
};

test('a written cache is read back into any cache, from any place in any order', () => {
  for (const kernels of kernelsOf) {
    // 64 positions of 2 heads: 16 values are whole blocks of the disk, 3 are not.
    for (const [headSize, type] of [
      [16, 'F16'],
      [3, 'F16'],
      [32, 'Q8_0'],
      [32, 'Q4_0'],
    ] as const) {
      const { file, make } = opened(kernels, headSize, type);
      const [one, other] = [make(), make()];
      fc.assert(
        fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 8 }), (places) => {
          for (const place of places) {
            put(kernels, one, place);
            file.write(one, place).wait();
          }
          for (const place of places.toReversed()) {
            file.read(other, place).wait();
            // A scale in half precision, of which the value is 127 or 8.
            assert.ok(Math.abs(get(kernels, other) - place) <= (type === 'F16' ? 0 : place / 2048));
          }
        }),
        { seed: 3, numRuns: 20 },
      );
      file.close();
    }
  }
});

test('jobs run in the background, and outcomes can be read repeatedly', () => {
  for (const kernels of kernelsOf) {
    const { file, make } = opened(kernels, 16);
    const cache = make();
    put(kernels, cache, 5);
    const job = file.write(cache, 3);
    const { start, end } = job.wait();
    assert.ok(start <= end && end <= performance.now() / 1000 + 0.001);
    assert.equal(
      [job.wait(), job.poll()],
      [
        { start, end },
        { start, end },
      ],
    );
    file.close();
  }
});

test('the file has no name, and a missing folder is an error', () => {
  for (const kernels of kernelsOf) {
    const { file, make } = opened(kernels, 16);
    assert.equal(readdirSync(folder), []);
    file.close();
    assert.throws(
      () => kernels.cacheFile({ folder: join(folder, 'missing'), ram: 0 }, make()),
      (error: Error) => error.name === 'InputError' && /missing.*(no such file|can be made there)/i.test(error.message),
    );
  }
});

test('reading a place that was never written is an error of the job', () => {
  for (const kernels of kernelsOf.filter(({ name }) => name === 'native')) {
    const { file, make } = opened(kernels, 16);
    assert.throws(() => file.read(make(), 9).wait(), /the file of the KV cache ends early/);
    file.close();
  }
});

test.run();
