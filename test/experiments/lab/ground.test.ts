import { tmpdir } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findLabGround } from '../../../experiments/lab/ground.ts';
import { testIf } from '../../support/needs.ts';
import { treeOf } from './tree.ts';

const absent = (program: string): string => {
  throw new Error(`${program}: not found`);
};

testIf(process.platform === 'linux', 'a lab needs Linux', 'all that is missing is said at once', () => {
  const ground = findLabGround(treeOf({}), absent, tmpdir(), 2 ** 60);
  assert.ok('missing' in ground);
  const text = ground.missing.join('\n');
  for (const expected of [
    'no control groups for memory',
    'no control groups for disk',
    'no control groups for cpu',
    'the program ip',
    'the program tc',
    'the program dd',
    'a disk that can be throttled',
    'are free, 1073741824 GiB are needed',
  ])
    assert.ok(text.includes(expected), `${expected} in:\n${text}`);
});

test.run();
