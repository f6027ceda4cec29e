import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Candidate, draw, minP, probabilities, topK, topP } from '../../../engine/text/sampling/candidates.ts';
import { penalizeRepeats } from '../../../engine/text/sampling/sampler.ts';
import { near } from '../../support/near.ts';

/** Candidates with token i at the i-th probability. */
const withProbabilities = (...shares: readonly number[]): Candidate[] =>
  shares.map((share, token) => ({ token, logit: Math.log(share) }));
const tokens = (candidates: readonly Candidate[]): number[] => candidates.map(({ token }) => token);

test('the repetition penalty divides positive logits and multiplies others, once each', () => {
  const logits = Float32Array.of(4, -4, 0, 4);
  assert.equal([...penalizeRepeats(logits, [0, 1, 2, 0, 99], 2)], [2, -8, 0, 4]);
  assert.equal([...logits], [4, -4, 0, 4]);
  assert.is(penalizeRepeats(logits, [0], 1), logits);
});

test('top-k gives the largest logits in order, ties by token', () => {
  assert.equal(tokens(topK(Float32Array.of(1, 3, 2, 3, 0), 3)), [1, 3, 2]);
  assert.equal(tokens(topK(Float32Array.of(1, 1, 1), 2)), [0, 1]);
  assert.equal(tokens(topK(Float32Array.of(1, 3, 2), 0)), [1, 2, 0]);
});

test('top-k of all equals sorting, including signed zeros and subnormal numbers', () => {
  const logit = fc.oneof(fc.float({ noNaN: true }), fc.constantFrom(0, -0, 1e-45, -1e-45));
  fc.assert(
    fc.property(fc.array(logit, { minLength: 1, maxLength: 40 }), (values) => {
      const logits = Float32Array.from(values);
      const byComparing = [...logits.keys()].sort((a, b) => {
        const [left, right] = [logits[a] as number, logits[b] as number];
        return left === right ? a - b : right - left;
      });
      assert.equal(tokens(topK(logits, 0)), byComparing);
    }),
  );
});

test('top-k excludes NaN and includes infinite logits', () => {
  for (const k of [0, 2]) {
    assert.equal(tokens(topK(Float32Array.of(Number.NaN, 1, Number.POSITIVE_INFINITY), k)), [2, 1]);
    assert.equal(tokens(topK(Float32Array.of(Number.NEGATIVE_INFINITY, Number.NaN), k)), [0]);
  }
});

test('top-p keeps the fewest candidates that reach the probability, at least one', () => {
  const four = withProbabilities(0.5, 0.25, 0.125, 0.125);
  assert.equal(tokens(topP(four, 0.74)), [0, 1]);
  assert.equal(tokens(topP(four, 0.76)), [0, 1, 2]);
  assert.equal(tokens(topP(four, 0)), [0]);
  assert.equal(tokens(topP(four, 1)), [0, 1, 2, 3]);
});

test('min-p keeps candidates with at least a share of the first’s probability', () => {
  const four = withProbabilities(0.5, 0.25, 0.2, 0.05);
  assert.equal(tokens(minP(four, 0.45)), [0, 1]);
  assert.equal(tokens(minP(four, 0.09)), [0, 1, 2, 3]);
  assert.equal(tokens(minP(four, 0.11)), [0, 1, 2]);
  assert.equal(tokens(minP(four, 0)), [0, 1, 2, 3]);
});

test('draw uses cumulative probabilities at a temperature', () => {
  const three = withProbabilities(0.5, 0.3, 0.2);
  assert.equal(
    [0, 0.49, 0.51, 0.79, 0.81, 0.999].map((uniform) => draw(three, 1, uniform)),
    [0, 0, 1, 1, 2, 2],
  );
  // At ½ probabilities are squared: 0.25, 0.09, 0.04 of 0.38.
  const shares = [0.25 / 0.38, 0.34 / 0.38];
  assert.equal(
    shares.flatMap((share) => [draw(three, 0.5, share - 1e-6), draw(three, 0.5, share + 1e-6)]),
    [0, 1, 1, 2],
  );
});

test('equal logits have equal probabilities, and huge ones finite', () => {
  assert.equal(probabilities([1e30, 1e30].map((logit, token) => ({ token, logit }))), [0.5, 0.5]);
  const infinite = [Number.POSITIVE_INFINITY, 5].map((logit, token) => ({ token, logit }));
  assert.equal(probabilities(infinite), [1, 0]);
});

const anyLogits = fc
  .array(fc.integer({ min: -40, max: 40 }), { minLength: 1, maxLength: 60 })
  .map((eighths) => Float32Array.from(eighths, (value) => value / 8));

test('top-k is the prefix of the sorted list', () => {
  fc.assert(
    fc.property(anyLogits, fc.integer({ min: 1, max: 70 }), (logits, k) => {
      const sorted = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b);
      assert.equal(tokens(topK(logits, k)), sorted.slice(0, k));
    }),
    { seed: 1 },
  );
});

test('top-p reaches the probability, but not without its last candidate', () => {
  fc.assert(
    fc.property(anyLogits, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (logits, p) => {
      const all = topK(logits, 0);
      const shares = probabilities(all);
      near(
        shares.reduce((sum, share) => sum + share, 0),
        1,
      );
      const kept = topP(all, p);
      const sumOf = (count: number): number => shares.slice(0, count).reduce((sum, share) => sum + share, 0);
      assert.equal(kept, all.slice(0, kept.length));
      assert.ok(sumOf(kept.length) >= p - 1e-12);
      assert.ok(sumOf(kept.length - 1) < p);
    }),
    { seed: 1 },
  );
});

test('min-p keeps exactly the candidates above its bound', () => {
  fc.assert(
    fc.property(anyLogits, fc.double({ min: 0.001, max: 1, noNaN: true }), (logits, least) => {
      const all = topK(logits, 0);
      const kept = new Set(tokens(minP(all, least)));
      const shares = probabilities(all);
      all.forEach(({ token }, index) => {
        const ratio = (shares[index] as number) / (shares[0] as number);
        if (Math.abs(ratio - least) > 1e-12) assert.is(kept.has(token), ratio > least);
      });
    }),
    { seed: 1 },
  );
});

test('draws over an even grid have the frequencies of their probabilities', () => {
  const draws = 1000;
  fc.assert(
    fc.property(anyLogits, fc.constantFrom(0.5, 1, 2), (logits, temperature) => {
      const all = topK(logits, 0);
      const counts = new Map<number, number>();
      for (let index = 0; index < draws; index++) {
        const token = draw(all, temperature, (index + 0.5) / draws);
        counts.set(token, (counts.get(token) ?? 0) + 1);
      }
      const powers = all.map(({ logit }) => Math.exp(logit / temperature));
      const sum = powers.reduce((total, power) => total + power, 0);
      all.forEach(({ token }, index) => {
        const expected = (draws * (powers[index] as number)) / sum;
        assert.ok(Math.abs((counts.get(token) ?? 0) - expected) <= 1 + 1e-6);
      });
    }),
    { seed: 1, numRuns: 50 },
  );
});

test.run();
