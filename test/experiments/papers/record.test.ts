import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PublishedCell } from '../../../datasets/published.ts';
import type { Comparison } from '../../../experiments/papers/comparison.ts';
import {
  drift,
  errorRecord,
  parseErrorRecord,
  type RecordedCell,
  type RecordedError,
  recordedCells,
} from '../../../experiments/papers/record.ts';

const PRINTED: PublishedCell = {
  paper: 'helm',
  table: 'Table 6.1',
  row: '3090 / Qwen3-4B',
  column: 'HELM tok/s',
  value: 27.1,
  unit: 'tok/s',
  basis: 'measured',
  noise: undefined,
  noiseFrom: '',
  use: 'held-out',
  cluster: 'helm-3090',
  model: 'Qwen3-4B',
  system: 'helm',
  metric: 'throughput',
  note: '',
};
const CELL: Comparison = {
  paper: 'helm',
  cell: PRINTED,
  policy: '',
  unit: 'tok/s',
  published: 27.1,
  predicted: 23.2,
  simulated: undefined,
  predictedError: -0.14391,
  simulatedError: undefined,
  noise: undefined,
  use: 'held-out',
  target: 0.13,
  detail: undefined,
};
const OOM: Comparison = {
  ...CELL,
  cell: { ...PRINTED, row: '3090, "14B"' },
  published: 'OOM',
  predicted: 'OOM',
  simulated: 1,
  predictedError: undefined,
};

test('the record has a line per cell: errors to a hundredth of a point, or whether outcomes agree', () => {
  assert.is(
    errorRecord([CELL, OOM]),
    'paper,table,row,column,policy,predicted_error,simulated_error\n' +
      'helm,Table 6.1,3090 / Qwen3-4B,HELM tok/s,,-0.1439,\n' +
      'helm,Table 6.1,"3090, ""14B""",HELM tok/s,,agrees,disagrees\n',
  );
});

test('a record that is written and read again differs by rounding only', () => {
  const [one, other] = parseErrorRecord(errorRecord([CELL, OOM]), 'errors.csv');
  assert.equal(one, {
    key: 'helm · Table 6.1 · 3090 / Qwen3-4B · HELM tok/s',
    predicted: -0.1439,
    simulated: '',
  });
  assert.equal(other, recordedCells([OOM])[0]);
});

const cell = (predicted: RecordedError, simulated: RecordedError = '', key = 'prima · Table 4 · 8B'): RecordedCell => ({
  key,
  predicted,
  simulated,
});

test('an error may grow by a point, not by more, whatever its sign', () => {
  assert.equal(drift([cell(0.05)], [cell(0.06)]), []);
  assert.equal(drift([cell(0.05)], [cell(-0.06)]), []);
  assert.equal(drift([cell(0.05)], [cell(0.061)]), ['prima · Table 4 · 8B, predicted: error 5.0 % became 6.1 %']);
  assert.equal(drift([cell(-0.05)], [cell(-0.07)]), ['prima · Table 4 · 8B, predicted: error -5.0 % became -7.0 %']);
  assert.equal(drift([cell(0, 0.05)], [cell(0, 0.1)]), ['prima · Table 4 · 8B, simulated: error 5.0 % became 10.0 %']);
});

test('an outcome may not stop agreeing, and an answer may not vanish', () => {
  assert.equal(drift([cell('agrees')], [cell('disagrees')]), [
    'prima · Table 4 · 8B, predicted: agrees became disagrees',
  ]);
  assert.equal(drift([cell(0.05)], [cell('disagrees')]), [
    'prima · Table 4 · 8B, predicted: error 5.0 % became disagrees',
  ]);
  assert.equal(drift([cell(0.05)], [cell('')]), ['prima · Table 4 · 8B, predicted: error 5.0 % became nothing']);
  assert.equal(drift([cell('disagrees')], [cell('agrees')]), []);
  assert.equal(drift([cell('')], [cell(0.5)]), []);
});

test('removed and new cells have to be recorded', () => {
  assert.equal(drift([cell(0)], []), ['prima · Table 4 · 8B: is no longer reproduced']);
  assert.equal(drift([], [cell(0)]), ['prima · Table 4 · 8B: is not in the record']);
});

test('property: no record drifts from itself, and an improvement is no drift', () => {
  const errors = fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { maxLength: 8 });
  fc.assert(
    fc.property(errors, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const before = all.map((error, index) => cell(error, error, String(index)));
      const after = all.map((error, index) => cell(share * error, -share * error, String(index)));
      assert.equal(drift(before, before), []);
      assert.equal(drift(before, after), []);
    }),
  );
});

test.run();
