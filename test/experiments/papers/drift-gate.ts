import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Comparison } from '../../../experiments/papers/comparison.ts';
import { drift, parseErrorRecord, recordedCells } from '../../../experiments/papers/record.ts';

const RECORD = join(import.meta.dirname, '../../golden/reproduction-errors.csv');

/**
 * No cell of any paper may drift away from what is published: its error may not grow by more than a point over the
 * record. What was changed on purpose renews it: `npm run reproduce -- --out results/all` writes `errors.csv`.
 */
export function driftGate(comparisons: readonly Comparison[]): void {
  test('no error of any reproduced cell has grown by more than a point', () => {
    const recorded = parseErrorRecord(readFileSync(RECORD, 'utf8'), 'test/golden/reproduction-errors.csv');
    const found = drift(recorded, recordedCells(comparisons));
    const renew =
      'If that is meant, renew the record: npm run reproduce -- --out results/all && cp results/all/errors.csv test/golden/reproduction-errors.csv';
    assert.equal(found, [], `${found.slice(0, 20).join('\n')}\n${renew}`);
  });
}
