import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ReproducedCell } from '../../../experiments/papers/comparison.ts';
import { errorRecord, parseErrorRecord, recordedCells } from '../../../experiments/papers/record.ts';

const CELL: ReproducedCell = {
  paper: 'helm',
  table: 'Table 6.1',
  row: '3090 / Qwen3-4B',
  column: 'HELM tok/s',
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
};
const OOM: ReproducedCell = {
  ...CELL,
  row: '3090, "14B"',
  published: 'OOM',
  predicted: 'OOM',
  simulated: 1,
  predictedError: undefined,
};

test('a line per cell: errors to a hundredth of a point, or whether both say that it runs', () => {
  assert.is(
    errorRecord([CELL, OOM]),
    'paper,table,row,column,policy,predicted_error,simulated_error\n' +
      'helm,Table 6.1,3090 / Qwen3-4B,HELM tok/s,,-0.1439,\n' +
      'helm,Table 6.1,"3090, ""14B""",HELM tok/s,,agrees,disagrees\n',
  );
});

test('what is written is read again, but for what is rounded off', () => {
  const [one, other] = parseErrorRecord(errorRecord([CELL, OOM]), 'errors.csv');
  assert.equal(one, {
    key: 'helm · Table 6.1 · 3090 / Qwen3-4B · HELM tok/s',
    predicted: -0.1439,
    simulated: '',
  });
  assert.equal(other, recordedCells([OOM])[0]);
});

test.run();
