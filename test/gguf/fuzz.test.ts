import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { GGUF_LIMITS } from '../../engine/gguf/limits.ts';
import { fuzzGguf } from '../fuzz/fuzz-gguf.ts';

test('10,000 mutated headers are read or refused with a GgufError, quickly and without reading weights', () => {
  const { refused, noModel, models, slowest, mostRead } = fuzzGguf(20_240_131, 10_000);
  assert.is(refused + noModel + models, 10_000);
  // Mutations test every stage: the reader refuses most, the model some, and some change nothing relevant.
  assert.ok(refused > 5000 && noModel > 100 && models > 100, `${refused} ${noModel} ${models}`);
  assert.ok(slowest < 2, `${slowest} s`);
  assert.ok(mostRead <= GGUF_LIMITS.headerBytes, `${mostRead} bytes`);
});

test.run();
