import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chances } from '../../notebooks/drawing-a-token/chances.ts';

test('chances follow top-k, top-p and temperature', () => {
  const logits = Float32Array.of(0, Math.log(2), Math.log(5)); // 1 : 2 : 5
  const drawn = (sampling: { temperature: number; topK: number; topP: number }): number[] =>
    chances(logits, sampling).map(({ drawn: share }) => Math.round(1000 * share));
  assert.equal(drawn({ temperature: 1, topK: 0, topP: 1 }), [625, 250, 125]);
  assert.equal(drawn({ temperature: 1, topK: 2, topP: 1 }), [714, 286, 0]);
  assert.equal(drawn({ temperature: 1, topK: 0, topP: 0.6 }), [1000, 0, 0]);
  assert.equal(drawn({ temperature: 0.5, topK: 2, topP: 1 }), [862, 138, 0]); // 25 : 4
  assert.equal(drawn({ temperature: 0, topK: 0, topP: 1 }), [1000, 0, 0]);
});

test.run();
