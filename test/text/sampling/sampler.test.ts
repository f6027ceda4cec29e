import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { topK } from '../../../engine/text/sampling/candidates.ts';
import { createSampler, SAMPLER_DEFAULTS, type SamplerOptions } from '../../../engine/text/sampling/sampler.ts';

/** No filters: draws from all tokens with the model's probabilities. */
const PLAIN: SamplerOptions = { temperature: 1, topK: 0, topP: 1, minP: 0, repeatPenalty: 1 };

const logitsOf = (...shares: readonly number[]): Float32Array => Float32Array.from(shares, Math.log);
const LOGITS = logitsOf(0.1, 0.4, 0.2, 0.3);

/** The different tokens of 200 draws, sorted. */
function drawn(options: Partial<SamplerOptions>, logits = LOGITS, history: readonly number[] = []): number[] {
  const sampler = createSampler({ ...PLAIN, ...options }, randomStream(1, 'test'));
  return [...new Set(Array.from({ length: 200 }, () => sampler(logits, history)))].sort();
}

test('temperature 0 gives the most likely token after the penalty', () => {
  assert.equal(drawn({ temperature: 0 }), [1]);
  // −0.92·2 is below −1.20.
  assert.equal(drawn({ temperature: 0, repeatPenalty: 2 }, LOGITS, [1]), [3]);
});

test('top-k, top-p and min-p each exclude unlikely tokens', () => {
  assert.equal(drawn({}), [0, 1, 2, 3]);
  assert.equal(drawn({ topK: 2 }), [1, 3]);
  assert.equal(drawn({ topP: 0.75 }), [1, 2, 3]);
  assert.equal(drawn({ minP: 0.6 }), [1, 3]);
});

test('top-p uses probabilities after top-k and before temperature', () => {
  // The first has 0.4/0.7 = 0.57 of the best two.
  assert.equal(drawn({ topK: 2, topP: 0.55 }), [1]);
  // At temperature 100 all four would be about equally likely, and 0.55 would need three.
  assert.equal(drawn({ topP: 0.55, temperature: 100 }), [1, 3]);
});

test('only the last 64 tokens count as repeated', () => {
  const far = [1, ...new Array<number>(64).fill(0)];
  assert.equal(drawn({ temperature: 0, repeatPenalty: 2 }, LOGITS, far), [1]);
  assert.equal(drawn({ temperature: 0, repeatPenalty: 2 }, LOGITS, far.slice(0, 64)), [3]);
});

test('draws are determined by the seed', () => {
  const draws = (seed: number): number[] => {
    const sampler = createSampler(SAMPLER_DEFAULTS, randomStream(seed, 'test'));
    return Array.from({ length: 50 }, () => sampler(LOGITS, []));
  };
  assert.equal(draws(1), draws(1));
  assert.not.equal(draws(1), draws(2));
});

test('logits of NaN are refused', () => {
  const sampler = createSampler(PLAIN, randomStream(1, 'test'));
  assert.throws(() => sampler(Float32Array.of(Number.NaN, Number.NaN), []), /none of the model’s logits is a number/);
});

test('a sampler that needs only some candidates draws the same from them', () => {
  for (const options of [{ temperature: 0 }, { topK: 3, temperature: 0.8 }]) {
    const create = () => createSampler({ ...PLAIN, ...options }, randomStream(3, 'test'));
    const [whole, { ofCandidates }] = [create(), create()];
    assert.ok(ofCandidates);
    const candidates = topK(LOGITS, ofCandidates.k);
    for (let draw = 0; draw < 50; draw++) assert.is(ofCandidates.choose(candidates), whole(LOGITS, []));
  }
});

test('all logits are needed for a penalty, for every candidate, and for many', () => {
  const ofCandidates = (options: Partial<SamplerOptions>) =>
    createSampler({ ...SAMPLER_DEFAULTS, ...options }, randomStream(1, 'test')).ofCandidates;
  assert.is(ofCandidates({})?.k, 40);
  assert.is(ofCandidates({ temperature: 0, topK: 0 })?.k, 1);
  for (const options of [{ repeatPenalty: 1.1 }, { topK: 0 }, { topK: 1000 }])
    assert.is(ofCandidates(options), undefined);
});

test.run();
