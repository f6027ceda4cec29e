import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { convexFloor } from '../../../../experiments/papers/helm/ratios.ts';

test('steps that grow by as much for every request leave no error', () => {
  // Steps of 1, 1.25, 1.75 and 2.75.
  const gains = [2, 4, 8].map((batch) => ({ batch, gain: batch / (0.75 + 0.25 * batch) }));
  assert.ok(convexFloor(gains) < 1e-9);
});

test('a request that is cheaper than the one before leaves an error, here a tenth', () => {
  // The step of two may be at most half-way between those of one and of three: (1 + 1.8 / 0.9) / 2 = 1.65 / 1.1.
  const gains = [
    { batch: 2, gain: 2 / 1.65 },
    { batch: 3, gain: 3 / 1.8 },
  ];
  assert.ok(Math.abs(convexFloor(gains) - 0.1) < 1e-9);
});

test('property: work done once next to work of every request, whichever is longer, leaves no error', () => {
  const seconds = fc.double({ min: 0.01, max: 10, noNaN: true });
  fc.assert(
    fc.property(seconds, seconds, seconds, (once, each, reading) => {
      const step = (batch: number): number => Math.max(once + each * batch, reading);
      const gains = [2, 4, 8].map((batch) => ({ batch, gain: (batch * step(1)) / step(batch) }));
      assert.ok(convexFloor(gains) < 1e-9);
    }),
  );
});

test.run();
