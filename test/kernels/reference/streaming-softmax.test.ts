import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nothingSeen, type SeenScores, seePage } from '../../../engine/kernels/reference/attention.ts';
import { near } from '../../support/near.ts';

/** The six tokens of HELM's running example (4.2.3.4): score and value. */
const SIX_TOKENS: readonly (readonly [score: number, value: number])[] = [
  [2, 10],
  [4, 30],
  [1, 5],
  [0, 2],
  [1, 8],
  [2, 12],
];

/** HELM Table 4.2, right column: m, s and o after each token, as printed. */
const TABLE_4_2: readonly (readonly [largest: number, total: number, sum: number])[] = [
  [2, 1.0, 10.0],
  [4, 1.135, 31.35],
  [4, 1.185, 31.6],
  [4, 1.203, 31.64],
  [4, 1.253, 32.04],
  [4, 1.388, 33.66],
];

const see = (seen: SeenScores, page: readonly (readonly [number, number])[]): SeenScores =>
  seePage(
    seen,
    page.map(([score]) => score),
    (j) => [page[j]?.[1] as number],
  );

test('HELM Table 4.2 is reproduced token by token', () => {
  let seen = nothingSeen(1);
  for (const [i, token] of SIX_TOKENS.entries()) {
    seen = see(seen, [token]);
    const [largest, total, sum] = TABLE_4_2[i] as (typeof TABLE_4_2)[number];
    assert.is(seen.largest, largest);
    // Printed with three and two decimals, each computed from the rounded previous value: the last digit may be off by
    // one.
    near(seen.total, total, 1.1e-3);
    near(seen.sums[0] as number, sum, 1.5e-2);
  }
  near((seen.sums[0] as number) / seen.total, 24.2, 0.05);
});

test('pages of any size, in any order, and empty ones give the output of HELM Table 4.2', () => {
  const standard = SIX_TOKENS.map(([score]) => Math.exp(score - 4));
  const whole = standard.reduce((sum, weight, i) => sum + weight * (SIX_TOKENS[i]?.[1] as number), 0);
  const expected = whole / standard.reduce((sum, weight) => sum + weight, 0);
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...SIX_TOKENS], { minLength: 6 }),
      fc.integer({ min: 1, max: 6 }),
      (order, size) => {
        let seen = see(nothingSeen(1), []);
        for (let from = 0; from < 6; from += size) seen = see(see(seen, order.slice(from, from + size)), []);
        near((seen.sums[0] as number) / seen.total, expected, 1e-12);
      },
    ),
    { seed: 7 },
  );
});

test('scores far apart neither overflow nor underflow', () => {
  const seen = see(see(nothingSeen(1), [[-1e4, 7]]), [[1e4, 3]]);
  assert.equal([seen.largest, seen.total, seen.sums[0]], [1e4, 1, 3]);
});

test.run();
