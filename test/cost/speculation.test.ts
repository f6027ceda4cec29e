import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { predictOverlapped } from '../../engine/cost/overlap.ts';
import { predict } from '../../engine/cost/predict.ts';
import { bestDraftTokens, expectedTokens, speculativeSeconds } from '../../engine/cost/speculation.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { near, relativelyNear } from '../support/near.ts';
import { TOY_CPU, TOY_MODEL, TOY_RUNTIME, TOY_WORKLOAD, toyCluster, toyDevice } from '../support/toy-cluster.ts';

test('the tokens of a verification are those of the geometric series', () => {
  near(expectedTokens({ acceptanceRate: 0, draftTokens: 5 }), 1);
  near(expectedTokens({ acceptanceRate: 0.5, draftTokens: 2 }), 1.75);
  near(expectedTokens({ acceptanceRate: 0.8, draftTokens: 5 }), (1 - 0.8 ** 6) / 0.2);
  near(expectedTokens({ acceptanceRate: 1, draftTokens: 5 }), 6);
  near(expectedTokens({ acceptanceRate: 0.9, draftTokens: 0 }), 1);
});

test('rates and numbers of tokens that are none are refused', () => {
  for (const acceptanceRate of [-0.1, 1.1, Number.NaN])
    assert.throws(
      () => expectedTokens({ acceptanceRate, draftTokens: 5 }),
      /acceptance rate is .*; give a probability/,
    );
  for (const draftTokens of [-1, 1.5])
    assert.throws(() => expectedTokens({ acceptanceRate: 0.5, draftTokens }), /drafted tokens; give a whole number/);
});

test('a draft of 2 tokens at 3 s each, verified in 10 s, half of them accepted: 16 s for 1.75 tokens', () => {
  const costs = { acceptanceRate: 0.5, draftTokens: 2, draftSeconds: 3, verifySeconds: () => 10 };
  near(speculativeSeconds(costs), 16 / 1.75);
});

test('a draft that is sure of half of its tokens: 0, 1 or 2 of them, by the probability of each', () => {
  const verifySeconds = (tokens: number): number => 9 + tokens;
  // 0 tokens: 3 s and 10 s, for 1 token. 1: 6 s and 11 s, for 1.5. 2: 6 s and 12 s, for 1.75.
  const costs = { acceptanceRate: 0.5, sureRate: 0.5, draftTokens: 2, draftSeconds: 3, verifySeconds };
  near(speculativeSeconds(costs), (0.5 * 13 + 0.25 * 17 + 0.25 * 18) / (0.5 * 1 + 0.25 * 1.5 + 0.25 * 1.75));
  near(expectedTokens({ acceptanceRate: 0.5, draftTokens: 2, sureRate: 0.5 }), 0.5 * 1 + 0.25 * 1.5 + 0.25 * 1.75);
  assert.throws(() => expectedTokens({ acceptanceRate: 1, draftTokens: 2, sureRate: 2 }), /rate of sure tokens is 2/);
});

test('verifying as fast as decoding gives the speed-up of Theorem 3.8', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0.01, max: 2, noNaN: true }),
      (acceptanceRate, draftTokens, draftSeconds) => {
        const tokenSeconds = speculativeSeconds({ acceptanceRate, draftTokens, draftSeconds, verifySeconds: () => 1 });
        const speedUp =
          (1 - acceptanceRate ** (draftTokens + 1)) / ((1 - acceptanceRate) * (draftTokens * draftSeconds + 1));
        relativelyNear(1 / tokenSeconds, speedUp);
      },
    ),
  );
});

test('the best draft is as long as further tokens pay: not at all where nothing is accepted', () => {
  const costs = { draftSeconds: 0.1, verifySeconds: (tokens: number) => 1 + 0.2 * (tokens - 1), most: 8 };
  assert.equal(bestDraftTokens({ ...costs, acceptanceRate: 0 }), { draftTokens: 0, tokenSeconds: 1 });
  // Tokens and seconds by γ: 1 in 1, 1.8 in 1.3, 2.44 in 1.6, 2.952 in 1.9, 3.3616 in 2.2.
  const found = bestDraftTokens({ ...costs, acceptanceRate: 0.8 });
  assert.is(found.draftTokens, 3);
  near(found.tokenSeconds, 1.9 / 2.952);
  // Where a verification costs what a token does, and drafts nothing, more is always better.
  const free = { draftSeconds: 0, verifySeconds: () => 1, most: 8 };
  assert.is(bestDraftTokens({ ...free, acceptanceRate: 0.5 }).draftTokens, 8);
});

const plan = ringPlan({
  scheduler: 'hand',
  head: 'a',
  rounds: 1,
  windows: [
    { device: 'a', layers: 2, gpuLayers: 0 },
    { device: 'b', layers: 2, gpuLayers: 0 },
  ],
  prefetch: 'none',
});
const parts = { plan, model: TOY_MODEL, workload: TOY_WORKLOAD, runtime: TOY_RUNTIME };

test('verifying six tokens multiplies products, attention and messages, and reads weights and KV cache once', () => {
  const truth = toyCluster([toyDevice('a'), toyDevice('b')]);
  const { seconds } = predict({ ...parts, truth, verifiedTokens: 6 });
  // A layer: 6 × (2 + 1 + 2) s of compute, 5000 B of weights and KV cache, 0.5 + 600/1000 s of copying KV.
  near(seconds.compute, 4 * 30 + 6 * 2);
  near(seconds.memory, 4 * 5 + (6 * 200 + 3000) / 1000);
  near(seconds.kvCopy, 4 * 1.1);
  // 600 bytes each way at 200 B/s, after 0.5 s.
  near(seconds.link, 2 * 3.5);
});

test('tokens after the first run at the rate of a prompt where that was measured', () => {
  const cpu = { ...TOY_CPU, promptFlops: { ...TOY_CPU.flops, Q4_K: 6000, Q6_K: 4000 } };
  const truth = toyCluster([
    { ...toyDevice('a'), cpu },
    { ...toyDevice('b'), cpu },
  ]);
  const { seconds } = predict({ ...parts, truth, verifiedTokens: 6 });
  // A layer: 3 s of products and five times half of that, 6 × 2 s of attention; the output layer: 2 s and five times 1 s.
  near(seconds.compute, 4 * (3 + 5 * 1.5 + 12) + 7);
});

test('verifying one token is decoding one', () => {
  const truth = toyCluster([toyDevice('a'), toyDevice('b')]);
  assert.equal(predictOverlapped({ ...parts, truth, verifiedTokens: 1 }), predictOverlapped({ ...parts, truth }));
  assert.equal(predict({ ...parts, truth, verifiedTokens: 1 }), predict({ ...parts, truth }));
});

test.run();
