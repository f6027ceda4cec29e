import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../engine/input/random-stream.ts';

test('numbers are determined by seed and name', () => {
  const draw = (seed: number, name: string): number[] => {
    const stream = randomStream(seed, name);
    return [stream.next(), stream.next(), stream.next()];
  };
  assert.equal(draw(1, 'disk'), draw(1, 'disk'));
  assert.not.equal(draw(1, 'disk'), draw(1, 'link'));
  assert.not.equal(draw(1, 'disk'), draw(2, 'disk'));
});

test('uniform numbers have the expected mean, variance and deciles over 100,000 draws', () => {
  const stream = randomStream(7, 'uniform');
  const tenths = new Array<number>(10).fill(0);
  let sum = 0;
  let squares = 0;
  for (let index = 0; index < 100_000; index++) {
    const value = stream.next();
    sum += value;
    squares += value * value;
    tenths[Math.floor(10 * value)] = (tenths[Math.floor(10 * value)] ?? 0) + 1;
  }
  assert.ok(Math.abs(sum / 1e5 - 0.5) < 0.005);
  assert.ok(Math.abs(squares / 1e5 - (sum / 1e5) ** 2 - 1 / 12) < 0.002);
  for (const count of tenths) assert.ok(Math.abs(count - 10_000) < 500, String(count));
});

test('integers reach both ends, and log-uniform numbers have the geometric mean as median', () => {
  const stream = randomStream(3, 'ranges');
  const seen = new Set(Array.from({ length: 200 }, () => stream.integer(2, 5)));
  assert.equal([...seen].sort(), [2, 3, 4, 5]);
  const below = Array.from({ length: 10_000 }, () => stream.logUniform(1, 100)).filter((value) => value < 10).length;
  assert.ok(Math.abs(below - 5000) < 250, String(below));
});

test.run();
