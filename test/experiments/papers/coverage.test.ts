import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PublishedCell } from '../../../datasets/published.ts';
import type { Comparison } from '../../../experiments/papers/comparison.ts';
import { type CoverageRule, coverageCsv, coverageOf, idleRules } from '../../../experiments/papers/coverage.ts';

const CELL: PublishedCell = {
  ...{ paper: 'p', table: 'Table 1', row: 'r', column: 'c', value: 1, unit: 'ms', basis: 'measured', noise: undefined },
  ...{ noiseFrom: '', use: '', cluster: '', model: '', system: 's', metric: 'tpot', note: '' },
};
const CELLS: readonly PublishedCell[] = [
  CELL,
  { ...CELL, row: 'compared' },
  { ...CELL, row: 'dash', value: 'unsupported' },
  { ...CELL, row: 'unknown', metric: 'frame rate' },
];
const RULES: readonly CoverageRule[] = [
  { value: 'unsupported', reason: 'not run' },
  { table: /^Table/, metric: 'tpot', reason: 'other program', note: 'why' },
];
const compared = [{ cell: CELLS[1] }] as unknown as readonly Comparison[];

test('a number is compared, accounted for by the first rule that matches, or missing', () => {
  const covered = coverageOf(CELLS, compared, RULES);
  assert.equal(
    covered.map(({ status, note }) => [status, note]),
    [
      ['other program', 'why'],
      ['compared', ''],
      ['not run', ''],
      ['missing', ''],
    ],
  );
  assert.match(
    coverageCsv(covered),
    /^paper,table,row,column,value,unit,status,note\np,Table 1,r,c,1,ms,other program,why\n/,
  );
});

test('a rule that accounts for no number is named', () => {
  const idle: CoverageRule = { row: 'compared', reason: 'input' };
  const rules = [...RULES, idle];
  assert.equal(idleRules(coverageOf(CELLS, compared, rules), rules), [idle]);
});

test.run();
