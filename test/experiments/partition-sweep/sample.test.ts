import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sampleNumbers } from '../../../experiments/partition-sweep/sample.ts';

test('a small space is taken as a whole', () => {
  assert.equal([...sampleNumbers(5, 5, 1)], [0, 1, 2, 3, 4]);
});

test('of a large one so many are drawn, ascending, none twice, alike for the same seed', () => {
  const drawn = [...sampleNumbers(1000, 100, 7)];
  assert.is(drawn.length, 100);
  assert.ok(drawn.every((number, at) => at === 0 || number > (drawn[at - 1] as number)));
  assert.ok((drawn[0] as number) >= 0 && (drawn.at(-1) as number) < 1000);
  assert.equal([...sampleNumbers(1000, 100, 7)], drawn);
  assert.not.equal([...sampleNumbers(1000, 100, 8)], drawn);
});

test('every number is drawn equally often: ten of twenty, 4000 times', () => {
  const counts = new Array<number>(20).fill(0);
  for (let seed = 0; seed < 4000; seed++)
    for (const number of sampleNumbers(20, 10, seed)) counts[number] = (counts[number] as number) + 1;
  // Binomial: 2000 ± 32; five deviations.
  assert.ok(
    counts.every((count) => Math.abs(count - 2000) < 160),
    counts.join(' '),
  );
});

test('the far end of a space beyond 2³² is reached', () => {
  const drawn = sampleNumbers(2 ** 50, 1000, 1);
  assert.ok((drawn.at(-1) as number) > 0.98 * 2 ** 50);
  assert.ok(drawn.some((number) => number % 2 === 1));
});

test.run();
