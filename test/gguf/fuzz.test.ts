import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { GGUF_LIMITS } from '../../engine/gguf/limits.ts';
import { fuzzGguf } from '../fuzz/fuzz-gguf.ts';

test('10,000 mutated headers: GgufError or a header, in little time and without reading the weights', () => {
  const { refused, noModel, models, slowest, mostRead } = fuzzGguf(20_240_131, 10_000);
  assert.is(refused + noModel + models, 10_000);
  // Mutations reach every depth: most are refused by the reader, some only by the model, some change nothing that counts.
  assert.ok(refused > 5000 && noModel > 100 && models > 100, `${refused} ${noModel} ${models}`);
  assert.ok(slowest < 2, `${slowest} s`);
  assert.ok(mostRead <= GGUF_LIMITS.headerBytes, `${mostRead} bytes`);
});

test.run();
