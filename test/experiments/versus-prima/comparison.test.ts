import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { diskSeconds, findings, speedups } from '../../../experiments/versus-prima/comparison.ts';
import { PROTOTYPE, waysOf } from '../../../experiments/versus-prima/ways.ts';
import { resultOf } from '../lab/result.ts';

const CELL = { ...PROTOTYPE, policy: 'pinned', rounds: 8 } as const;
const WAYS = waysOf(PROTOTYPE);
/** Seconds of each way; a token reads 2 GB on four disks of 400 MB/s. */
const RESULTS = [12, 10, 9, 4, 1.5].map((seconds, index) => ({
  way: WAYS[index] as (typeof WAYS)[number],
  result: resultOf(CELL, [seconds, 2e9]),
}));

test('there are five ways, and the last one pins', () => {
  assert.equal(
    WAYS.map(({ cell }) => [cell.policy.prefetch, cell.policy.release, cell.rounds]),
    [
      ['none', 'none', 1],
      ['willneed-whole', 'none', 4],
      ['willneed-whole', 'none', 8],
      ['willneed', 'none', 4],
      ['populate', 'pinned', 8],
    ],
  );
});

test('the text says how many times faster pinning is, and how long disks alone take', () => {
  assert.equal(
    speedups(RESULTS).map((factor) => factor.toFixed(2)),
    ['8.00', '6.67', '6.00', '2.67'],
  );
  assert.is(diskSeconds(resultOf(CELL, [1.5, 2e9])), 1.25);
  const [pinned = '', disks = ''] = findings(RESULTS);
  assert.match(pinned, 'Pinned, a token takes 1.50 s: 8.00 times as fast as one mmap');
  assert.match(disks, 'take 1.25 s for what it reads; the token’s deviation from that is +20 %');
});

test.run();
