import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { boundedLog, withoutRepetition } from '../../../engine/ring/wire/log.ts';

test('beyond thirty lines in ten seconds nothing is written, and long lines are cut', () => {
  const lines: string[] = [];
  const log = boundedLog((line) => lines.push(line));
  for (let index = 0; index < 5000; index++) log(`turned away: its public key ${index} is not known`);
  assert.is(lines.length, 30);
  const long: string[] = [];
  boundedLog((line) => long.push(line))('x'.repeat(1e6));
  assert.equal(long, [`${'x'.repeat(1000)}…`]);
});

test('a line is not repeated', () => {
  const lines: string[] = [];
  const log = withoutRepetition((line) => lines.push(line));
  for (const line of ['a', 'b', 'a', 'a', 'b', 'c']) log(line);
  assert.equal(lines, ['a', 'b', 'c']);
});

test.run();
