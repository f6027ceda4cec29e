import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHelmModel, loadCatalogue } from '../../../datasets/load.ts';
import { dynamicCacheBytes } from '../../../engine/cost/pytorch-memory.ts';
import { longestDynamicCache } from '../../../simulator/systems/dynamic-cache.ts';

const model = createHelmModel(loadCatalogue(), 'Qwen3-8B');
const run = { model, layers: 36, promptTokens: 128, batch: 1, most: 40_000 };

test('no prompt fits without room, and decoding ends by itself', () => {
  assert.is(longestDynamicCache({ ...run, room: 2 ** 20 }), 0);
  assert.is(longestDynamicCache({ ...run, room: 2 ** 30, most: 1000 }), 1000);
});

test('holes cost a fifth of the closed form’s tokens at most', () => {
  for (const room of [0.5e9, 0.93e9, 1.5e9, 3e9]) {
    let closed = run.promptTokens;
    while (dynamicCacheBytes({ ...run, tokens: closed + 1 }) <= room) closed += 1;
    const simulated = longestDynamicCache({ ...run, room });
    assert.ok(simulated <= closed, `${simulated} of ${closed}`);
    assert.ok(simulated > 0.8 * closed, `${simulated} of ${closed}`);
  }
});

test.run();
