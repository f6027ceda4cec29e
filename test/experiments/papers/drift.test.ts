import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { drift } from '../../../experiments/papers/drift.ts';
import type { RecordedCell, RecordedError } from '../../../experiments/papers/record.ts';

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

test('what runs may not stop agreeing, and an answer may not vanish', () => {
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

test('cells that are gone, and new ones, have to be recorded', () => {
  assert.equal(drift([cell(0)], []), ['prima · Table 4 · 8B: is no longer reproduced']);
  assert.equal(drift([], [cell(0)]), ['prima · Table 4 · 8B: is not in the record']);
});

test('property: nothing drifts from itself, and what becomes better never does', () => {
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
