import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { limitChecks } from '../../../experiments/lab/limit-checks.ts';
import { RESULT_COLUMNS, resultTables } from '../../../experiments/lab/report.ts';
import { errorsOf, findings, judged } from '../../../experiments/three-answers/summary.ts';
import { resultOf } from '../lab/result.ts';

const CELL = { policy: 'none', rounds: 1, memoryShare: 0.62, diskRate: 1e8 } as const;
const GB = 1e9;
const NEAR = resultOf(CELL, [10, GB], [10.2, GB]);
const FAR = resultOf({ ...CELL, rounds: 2 }, [10, GB], [8, 1.1 * GB]);
const FITS = resultOf({ ...CELL, memoryShare: 1.1 }, [1, 1000], [1.04, 0]);
const RESULTS = [NEAR, FAR, FITS];

test('errors: the median and the worst, by absolute size', () => {
  const { median, worst, worstCell } = errorsOf(RESULTS, 'simulated', 'seconds');
  assert.equal(
    [median, worst].map((error) => error.toFixed(3)),
    ['0.040', '0.200'],
  );
  assert.is(worstCell, FAR);
  assert.is(errorsOf(RESULTS, 'predicted', 'seconds').median, 1);
});

test('bytes are not judged where next to nothing is read', () => {
  assert.equal(judged(RESULTS, 'bytes', 2 * GB), [NEAR, FAR]);
  assert.equal(judged(RESULTS, 'seconds', 2 * GB), RESULTS);
  assert.match(findings([FITS], 2 * GB), 'no cell reads anything');
});

test('two tables have all columns; tones: within the median that is aimed at, within the worst, beyond', () => {
  const tables = resultTables([FAR], { median: 0.05, worst: 0.15 });
  const titles = new Set(tables.flatMap(({ columns }) => columns.map(({ title }) => title)));
  assert.equal(titles, new Set(RESULT_COLUMNS.map(({ title }) => title)));
  assert.equal(
    tables.map(({ tones }) => tones?.[0]?.filter(Boolean)),
    [['bad', 'bad'], ['fair']],
  );
  for (const { columns, rows, tones } of tables) {
    assert.is(rows[0]?.length, columns.length);
    assert.equal(
      columns.flatMap(({ title }, index) => (title === 'error' ? [index] : [])),
      tones?.[0]?.flatMap((tone, index) => (tone === undefined ? [] : [index])),
    );
  }
  assert.is(resultTables([FAR])[0]?.tones, undefined);
});

test('a lab says whether it kept to its limits', () => {
  const loose = { ...NEAR, devices: [{ ...(NEAR.devices[0] as (typeof NEAR.devices)[0]), peakBytes: 110 }] };
  assert.match(limitChecks([NEAR]).text, /^memory was held: at most 90.%.*; disks were held/);
  assert.match(limitChecks([NEAR, loose]).text, /^memory was NOT held/);
  const fast = { ...NEAR, diskRates: [1e8, 1.2e8] };
  assert.is(limitChecks([NEAR, fast]).diskRatio.toFixed(2), '1.20');
  assert.match(limitChecks([fast]).text, 'disks were NOT held');
});

test.run();
