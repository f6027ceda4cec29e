import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { penalizeOccurrences, withOccurrencePenalties } from '../../../engine/text/sampling/occurrences.ts';

test('frequency counts every occurrence, presence counts once', () => {
  const logits = Float32Array.of(4, 4, 4);
  const penalized = penalizeOccurrences(logits, [0, 0, 0, 1, 9], { frequency: 0.5, presence: 1 });
  assert.equal([...penalized], [1.5, 2.5, 4]);
  assert.equal([...logits], [4, 4, 4]);
});

test('negative penalties make repetition likelier', () => {
  assert.equal([...penalizeOccurrences(Float32Array.of(1, 1), [1], { frequency: -1, presence: -1 })], [1, 3]);
});

test('tokens of the prompt do not count', () => {
  const seen: number[][] = [];
  const sampler = withOccurrencePenalties(
    (logits) => {
      seen.push([...logits]);
      return 0;
    },
    2,
    { frequency: 1, presence: 0 },
  );
  sampler(Float32Array.of(5, 5, 5), [0, 1]);
  sampler(Float32Array.of(5, 5, 5), [0, 1, 2]);
  assert.equal(seen, [
    [5, 5, 5],
    [5, 5, 4],
  ]);
});

test.run();
