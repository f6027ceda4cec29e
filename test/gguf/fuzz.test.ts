import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../engine/input/random-stream.ts';
import { judge } from '../fuzz/target.ts';
import { open } from '../fuzz/targets/gguf.ts';

test('4,000 mutated headers are refused in a line, or are models that are evaluated, quickly', async () => {
  const target = open();
  const kinds: Record<string, number> = {};
  let slowest = 0;
  for (let number = 0; number < 4000; number++) {
    const input = target.input(randomStream(20_240_131, `input ${number}`));
    const start = performance.now();
    const outcome = await judge(target, input);
    slowest = Math.max(slowest, (performance.now() - start) / 1000);
    assert.ok('kind' in outcome, `input ${number}: ${'fault' in outcome ? outcome.fault : ''}`);
    kinds[outcome.kind] = (kinds[outcome.kind] ?? 0) + 1;
  }
  // Mutations test every stage: the reader refuses most, the model some, and some change nothing relevant.
  const [refused = 0, noModel = 0, models = 0] = ['refused', 'not a model', 'a model, evaluated'].map((k) => kinds[k]);
  assert.ok(refused > 2000 && noModel > 200 && models > 200, JSON.stringify(kinds));
  assert.ok(slowest < 2, `${slowest} s`);
});

test.run();
