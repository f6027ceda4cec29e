import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorsOf, findings, judged, rangeFindings } from '../../../experiments/three-answers/summary.ts';
import { resultOf } from '../lab/result.ts';

const CELL = { policy: 'none', rounds: 1, memoryShare: 0.62, diskRate: 1e8 } as const;
const GB = 1e9;
const NEAR = resultOf(CELL, [10, GB], [10.2, GB]);
const FAR = resultOf({ ...CELL, rounds: 2 }, [10, GB], [8, 1.1 * GB]);
const FITS = resultOf({ ...CELL, memoryShare: 1.1 }, [1, 1000], [1.04, 0]);
const RESULTS = [NEAR, FAR, FITS];

test('errors are the median and the worst, by absolute size', () => {
  const { median, worst, worstCell } = errorsOf(RESULTS, 'simulated', 'seconds');
  assert.equal(
    [median, worst].map((error) => error.toFixed(3)),
    ['0.040', '0.200'],
  );
  assert.is(worstCell, FAR);
  assert.is(errorsOf(RESULTS, 'predicted', 'seconds').median, 1);
});

test('bytes are judged only where a token reads a share of the model worth counting', () => {
  assert.equal(judged(RESULTS, 'bytes', 2 * GB), [NEAR, FAR]);
  assert.equal(judged(RESULTS, 'seconds', 2 * GB), RESULTS);
  assert.is(findings([FITS], 2 * GB)[2], 'Bytes read: no plan reads anything.');
});

test('ranges are counted by whether the measured time lies in them or near, and whether they are wide', () => {
  const ranges = [
    { least: 9, most: 11 },
    { least: 10.5, most: 11 },
    { least: 12, most: 20 },
  ];
  assert.match(
    rangeFindings(ranges.map((range) => ({ ...NEAR, range })))[0] ?? '',
    /, 1 of 3 measured TPOT lie inside the simulated range and 2 within 10 % of it; 1 ranges are wider than ±15 %\.$/,
  );
  assert.equal(rangeFindings(RESULTS), []);
});

test.run();
