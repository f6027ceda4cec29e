import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PublishedCell } from '../../../../datasets/published.ts';
import { errorOf, isUpperBound } from '../../../../experiments/papers/comparison.ts';
import { quantityOf, unitOf } from '../../../../experiments/papers/prima/quantities.ts';

function cell(parts: Partial<PublishedCell>): PublishedCell {
  return {
    paper: 'p',
    table: 'Table 1',
    row: 'r',
    column: 'c',
    value: 200,
    unit: 'ms',
    basis: 'measured',
    noise: undefined,
    noiseFrom: '',
    use: 'held-out',
    cluster: '',
    model: '',
    system: '',
    metric: 'tpot',
    note: '',
    ...parts,
  };
}

/** The error of a result against a cell. */
function errorAgainst(found: Parameters<typeof errorOf>[0], own: PublishedCell): number | undefined {
  return errorOf(found, { published: quantityOf(own), unit: unitOf(own.metric), cell: own });
}

const pressure = { value: 5, unit: '%', metric: 'memory-pressure' };

test('values of cells are converted to SI', () => {
  assert.is(quantityOf(cell({})), 0.2);
  assert.is(quantityOf(cell({ value: 3, unit: 's' })), 3);
  assert.is(quantityOf(cell(pressure)), 0.05);
  assert.is(quantityOf(cell({ value: 'OOM' })), 'OOM');
  assert.throws(() => quantityOf(cell({ unit: 'GiB' })), /"GiB" is not a unit/);
});

test('errors of times are relative, errors of shares are differences', () => {
  assert.is(errorAgainst(0.25, cell({})), 0.25);
  assert.is(errorAgainst(0.1, cell({})), -0.5);
  assert.is(errorAgainst(0.08, cell(pressure))?.toFixed(6), '0.030000');
});

test('an outcome has no error', () => {
  assert.is(errorAgainst('OOM', cell({})), undefined);
  assert.is(errorAgainst(0.1, cell({ value: 'OOM' })), undefined);
  assert.is(errorAgainst(undefined, cell({})), undefined);
});

test('a value below an upper bound has no error, one above it has', () => {
  const bound = cell({ ...pressure, note: 'upper bound: ≤ 5 %' });
  assert.ok(isUpperBound(bound));
  assert.is(errorAgainst(0.01, bound), 0);
  assert.is(errorAgainst(0.06, bound)?.toFixed(6), '0.010000');
});

test.run();
