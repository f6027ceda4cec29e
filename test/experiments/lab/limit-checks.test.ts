import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { limitChecks } from '../../../experiments/lab/limit-checks.ts';
import { resultOf } from './result.ts';

const CELL = { policy: 'none', rounds: 1, memoryShare: 0.62, diskRate: 1e8 } as const;
const NEAR = resultOf(CELL, [10, 1e9], [10.2, 1e9]);

test('memory is held up to its limit, disks within 5 %', () => {
  const loose = { ...NEAR, devices: [{ ...(NEAR.devices[0] as (typeof NEAR.devices)[0]), peakBytes: 110 }] };
  assert.match(limitChecks([NEAR]).text, /^memory was held: at most 90.%.*; disks were held/);
  assert.match(limitChecks([NEAR, loose]).text, /^memory was NOT held/);
  const fast = { ...NEAR, diskRates: [1e8, 1.2e8] };
  assert.is(limitChecks([NEAR, fast]).diskRatio.toFixed(2), '1.20');
  assert.match(limitChecks([fast]).text, 'disks were NOT held');
});

test.run();
