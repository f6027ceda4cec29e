import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { ROUTER_SCORES, type Router } from '../../engine/model/feed-forward.ts';
import { near } from '../support/near.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';

const reference = openKernels({ implementation: 'reference' });
const natives = NATIVE_SETS.map((instructionSet) =>
  openKernels({ implementation: 'native', instructionSet, threads: 2 }),
);

interface Routing {
  readonly logits: ArrayLike<number>;
  readonly router: Router;
  readonly bias?: readonly number[] | undefined;
  readonly scales?: readonly number[] | undefined;
}

function routed(kernels: Kernels, { logits, router, ...added }: Routing): number[] {
  const y = kernels.vector((logits.length / router.experts) * router.used * 2);
  const [bias, scales] = [added.bias, added.scales].map((values) => values && kernels.vector(values));
  const optional = { ...(bias && { bias }), scales };
  kernels.run([{ kind: 'route', x: kernels.vector(logits), ...optional, y, router }]);
  return [...y.values];
}

test('of the logits (0, ln 2, ln 5) the third and the second are chosen, with 5/8 and 2/8, or 5/7 and 2/7', () => {
  const logits = [0, Math.log(2), Math.log(5)];
  const weights = (scores: Router['scores'], normalised: boolean, factor?: number) =>
    [reference, ...natives].map((kernels) => {
      const [first, a, second, b] = routed(kernels, {
        logits,
        router: { experts: 3, used: 2, scores, normalised, factor },
      });
      assert.equal([first, second], [2, 1], kernels.instructionSet);
      return [a as number, b as number] as const;
    });
  for (const [scores, normalised, factor, expected] of [
    ['softmax', false, undefined, [5 / 8, 2 / 8]],
    ['softmax', true, undefined, [5 / 7, 2 / 7]],
    ['logits', false, 2, [10 / 7, 4 / 7]],
    ['sigmoid', false, undefined, [5 / 6, 2 / 3]],
    ['sigmoid', true, undefined, [5 / 9, 4 / 9]],
  ] as const)
    for (const found of weights(scores, normalised, factor))
      for (const [i, weight] of found.entries()) near(weight, expected[i] as number, 1e-6);
});

test('a bias chooses other experts, whose weights are their scores alone', () => {
  const router = { experts: 3, used: 1, scores: 'sigmoid', normalised: false } as const;
  for (const kernels of [reference, ...natives])
    assert.equal(routed(kernels, { logits: [0, 1, 2], router, bias: [1, 0, 0] }), [0, 0.5]);
});

test('scales multiply the weights of their experts, after these are normalised, and choose none', () => {
  const router = { experts: 3, used: 2, scores: 'softmax', normalised: true, factor: 2 } as const;
  for (const kernels of [reference, ...natives]) {
    const [first, a, second, b] = routed(kernels, { logits: [2, 0, 2], router, scales: [3, 1e6, -5] });
    assert.equal([first, second], [0, 2], kernels.instructionSet);
    near(a as number, 3, 1e-6);
    near(b as number, -5, 1e-6);
    assert.throws(
      () => routed(kernels, { logits: [2, 0, 2], router, scales: [1, 1] }),
      /route: scales has 2 values; 3 are needed/,
    );
  }
});

test('the best group is that of the largest sum of two, and experts outside of it are not chosen', () => {
  const router = { experts: 6, used: 2, scores: 'logits', normalised: false, groups: { count: 2, used: 1 } } as const;
  for (const kernels of [reference, ...natives]) {
    const [first, , second] = routed(kernels, { logits: [9, 0, 0, 5, 0, 5], router });
    assert.equal([first, second], [3, 5], kernels.instructionSet);
  }
});

/** Few different logits, so that ties are frequent, and all that they can be. */
const logit = fc.oneof(
  fc.constantFrom(-2, -1, -0, 0, 1e-42, 1, 3.5, -3e38, 3e38, Number.NaN, Number.NEGATIVE_INFINITY),
  fc.double({ min: -4, max: 4, noNaN: true }),
);
const routings = fc
  .record({
    size: fc.integer({ min: 1, max: 12 }),
    groups: fc.integer({ min: 1, max: 5 }),
    groupsUsed: fc.integer({ min: 1, max: 5 }),
    grouped: fc.boolean(),
    used: fc.integer({ min: 1, max: 60 }),
    scores: fc.constantFrom(...ROUTER_SCORES),
    normalised: fc.boolean(),
    factor: fc.constantFrom(undefined, 2.5, -1),
    biased: fc.boolean(),
    scaled: fc.boolean(),
    tokens: fc.integer({ min: 1, max: 4 }),
  })
  .chain(({ size, groups: count, groupsUsed, grouped, used, biased, scaled, tokens, ...others }) => {
    const experts = size * count;
    const among = Math.min(groupsUsed, count);
    const router: Router = {
      ...others,
      experts,
      used: Math.min(used, grouped ? among * size : experts),
      ...(grouped ? { groups: { count, used: among } } : {}),
    };
    const several = (one: fc.Arbitrary<number>, length: number) =>
      fc.array(one, { minLength: length, maxLength: length });
    const ofExperts = (wanted: boolean) =>
      wanted ? several(fc.constantFrom(0, 0.25, -1), experts) : fc.constant(undefined);
    return fc.record({
      router: fc.constant(router),
      logits: several(logit, tokens * experts),
      bias: ofExperts(biased),
      scales: ofExperts(scaled),
    });
  });

testNative('every instruction set chooses the reference’s experts, with ties, NaN, a bias, scales and groups', () => {
  fc.assert(
    fc.property(routings, (routing) => {
      const expected = routed(reference, routing);
      for (const kernels of natives)
        for (const [i, value] of routed(kernels, routing).entries()) {
          const exact = expected[i] as number;
          const same = Number.isNaN(exact) ? Number.isNaN(value) : Math.abs(value - exact) <= 1e-6 * Math.abs(exact);
          assert.ok(i % 2 === 0 ? value === exact : same, `${kernels.instructionSet}: ${value} is not ${exact}`);
        }
    }),
    { seed: 21, numRuns: 300 },
  );
});

test.run();
