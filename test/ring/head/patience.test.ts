import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPatience } from '../../../engine/ring/head/patience.ts';

const test = suite('ring/head/patience');

/** Says how long one device has been waited for, look by look. @returns the lines that were logged */
function linesOf(looks: readonly (number | undefined)[]): string[] {
  const lines: string[] = [];
  const say = createPatience((line) => lines.push(line));
  for (const seconds of looks) say(seconds === undefined ? undefined : { devices: ['two'], seconds });
  return lines;
}

test('a wait is told after three seconds, and again whenever it has doubled', () => {
  const lines = linesOf([1, 2, 3, 4, 5, 6, 8, 12]);
  assert.equal(
    lines,
    [3, 6, 12].map((seconds) => `waits for two: no result for ${seconds.toFixed(2)} s`.replace('12.00', '12.0')),
  );
});

test('frames that all take long are told once, and a hang after frames that were quick again as soon as the first', () => {
  assert.is(linesOf([3, 4, 1, 3, 4, 1, 3, 4, undefined, 3, 4]).length, 1);
  assert.is(linesOf([3, 4, 1, undefined, 0.5, 0.2, 2, 3]).length, 2);
});

test.run();
