import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quietSample, timedRun } from '../../engine/profile/quiet-runs.ts';

test('of runs that waited for processors, the quieter half counts, whatever it took', () => {
  const runs = [
    { seconds: 4, waited: 2 },
    { seconds: 3, waited: 0 },
    { seconds: 1, waited: 0.9 },
    { seconds: 5, waited: 0.1 },
  ];
  const { median, repeats } = quietSample(runs);
  assert.equal([median, repeats], [4, 2]);
});

test('without waits all runs count', () => {
  assert.is(quietSample([1, 2, 3].map((seconds) => ({ seconds, waited: 0 }))).repeats, 3);
});

test('a run is timed until it has ended', async () => {
  const { seconds, waited } = await timedRun(() => new Promise((resolve) => setTimeout(resolve, 20)));
  assert.ok(seconds >= 0.015 && waited >= 0, `${seconds} ${waited}`);
});

test.run();
