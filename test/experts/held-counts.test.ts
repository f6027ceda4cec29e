import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { drawnCounts, independentDraws, slowestDevices } from '../../engine/experts/held-counts.ts';
import { near } from '../support/near.ts';

/** All sets of `used` of so many experts, as bits. */
function sets(experts: number, used: number): number[] {
  const bits = (set: number): number => set.toString(2).replaceAll('0', '').length;
  return Array.from({ length: 2 ** experts }, (_, set) => set).filter((set) => bits(set) === used);
}

const has = (set: number, expert: number): boolean => ((set >> expert) & 1) === 1;
const sum = (values: Iterable<number>): number => [...values].reduce((all, one) => all + one, 0);

const cases = fc
  .record({
    popularity: fc.array(fc.double({ min: 0.1, max: 1, noNaN: true }), { minLength: 4, maxLength: 8 }),
    used: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ popularity, used }) => {
    // Half of the share is equal for all, so that none exceeds 1.
    const shares = popularity.map((one) => used * (0.5 / popularity.length + (0.5 * one) / sum(popularity)));
    return { shares, used };
  })
  .filter(({ shares }) => Math.max(...shares) < 0.98);

test('given that k experts are drawn, each is among them as often as its share says', () => {
  fc.assert(
    fc.property(cases, ({ shares, used }) => {
      const draws = independentDraws(shares, used);
      const weightOf = (set: number): number =>
        draws.reduce((all, draw, expert) => all * (has(set, expert) ? draw : 1 - draw), 1);
      const all = sets(shares.length, used);
      const total = sum(all.map(weightOf));
      for (const [expert, share] of shares.entries())
        near(sum(all.filter((set) => has(set, expert)).map(weightOf)) / total, share, 1e-6);
    }),
    { numRuns: 50 },
  );
});

test('the expected longest time is that of an enumeration of all sets of experts', () => {
  const held = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 8, maxLength: 8 });
  const seconds = fc.tuple(...Array.from({ length: 3 }, () => fc.integer({ min: 1, max: 9 })));
  fc.assert(
    fc.property(cases, held, seconds, ({ shares, used }, holders, each) => {
      const draws = independentDraws(shares, used);
      const secondsOf = (device: number, count: number): number =>
        count === 0 ? 0 : (each[device] as number) * count + device;
      const counts = [0, 1, 2].map((device) =>
        drawnCounts(
          draws.filter((_, expert) => holders[expert] === device),
          used,
        ),
      );
      const slowest = slowestDevices({ counts, total: used, secondsOf });
      near(sum(slowest.map(({ probability }) => probability)), 1);
      const all = sets(shares.length, used);
      const weightOf = (set: number): number =>
        draws.reduce((product, draw, expert) => product * (has(set, expert) ? draw : 1 - draw), 1);
      const longest = (set: number): number =>
        Math.max(
          ...[0, 1, 2].map((device) => {
            const count = shares.filter((_, expert) => has(set, expert) && holders[expert] === device).length;
            return secondsOf(device, count);
          }),
        );
      const expected = sum(all.map((set) => weightOf(set) * longest(set))) / sum(all.map(weightOf));
      near(sum(slowest.map(({ device, count, probability }) => probability * secondsOf(device, count))), expected);
    }),
    { numRuns: 50 },
  );
});

test('without a total, counts of devices are independent', () => {
  const counts = [drawnCounts([0.5], 1), drawnCounts([0.25], 1)];
  const slowest = slowestDevices({ counts, total: undefined, secondsOf: (device, count) => count * (device + 1) });
  assert.equal(slowest, [
    { device: 0, count: 0, probability: 0.375 },
    { device: 0, count: 1, probability: 0.375 },
    { device: 1, count: 1, probability: 0.25 },
  ]);
});

test.run();
