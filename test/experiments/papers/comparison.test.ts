import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PublishedCell } from '../../../datasets/published.ts';
import {
  CAPPED,
  cellAt,
  compare,
  isTest,
  OCTAVES,
  outcomeAgrees,
  type Quantity,
  type Rule,
} from '../../../experiments/papers/comparison.ts';
import { summaryMarkdown, summaryRow } from '../../../experiments/papers/summary.ts';

const CELL: PublishedCell = {
  paper: 'helm',
  table: 'Table 1',
  row: '8B',
  column: 'tok/s',
  value: 20,
  unit: 'tok/s',
  basis: 'measured',
  noise: undefined,
  noiseFrom: '',
  use: 'held-out',
  cluster: '',
  model: '',
  system: '',
  metric: '',
  note: '',
};

function rule(published: Quantity, predicted: Quantity | undefined, more: Partial<Rule<string>> = {}): Rule<string> {
  return {
    paper: 'helm',
    cell: CELL,
    policy: '',
    unit: 'tok/s',
    published,
    noise: undefined,
    use: 'held-out',
    answer: () => ({ predicted, simulated: undefined, target: 0.1, detail: 'd' }),
    ...more,
  };
}

test('rules are answered in order, with errors as shares of what is published', () => {
  const steps: string[] = [];
  const [one, other] = compare([rule(20, 25), rule('OOM', 3)], (label) => steps.push(label));
  assert.equal([one?.predictedError, one?.simulatedError, one?.target, one?.detail], [0.25, undefined, 0.1, 'd']);
  assert.is(other?.predictedError, undefined);
  assert.equal(steps, ['Table 1, 8B, tok/s', 'Table 1, 8B, tok/s']);
});

test('errors of shares are differences; a value below an upper bound has no error', () => {
  const cell = { ...CELL, note: 'upper bound: ≤ 5 %' };
  const [share, bound, beyond] = compare(
    [
      rule(0.5, 0.75, { unit: 'share' }),
      rule(0.5, 0.25, { unit: 'share', cell }),
      rule(0.5, 0.75, { unit: 'share', cell }),
    ],
    () => {},
  );
  assert.equal([share?.predictedError, bound?.predictedError, beyond?.predictedError], [0.25, 0, 0.25]);
});

test('outcomes agree where both sides run, or neither', () => {
  const found = compare([rule(20, 'OOM'), rule('OOM', 'OOM'), rule(20, 25), rule('failed', undefined)], () => {});
  assert.equal(found.map(outcomeAgrees), [false, true, true, undefined]);
});

test('errors of lengths on a log₂ axis are octaves', () => {
  const octaves = [2048, 256, 64, 'OOM' as const].map((found) => rule(256, found, { unit: OCTAVES }));
  assert.equal(
    compare(octaves, () => {}).map(({ predictedError }) => predictedError),
    [3, 0, -2, undefined],
  );
});

test('units of a plan and lengths at the model’s own limit agree or don’t, and have no error', () => {
  for (const unit of ['units', CAPPED]) {
    const found = compare([rule(8, 8, { unit }), rule(8, 4, { unit }), rule(8, undefined, { unit })], () => {});
    assert.equal(
      found.map((one) => [one.predictedError, outcomeAgrees(one)]),
      [
        [undefined, true],
        [undefined, false],
        [undefined, undefined],
      ],
    );
  }
});

test('a cell is found at its place, and a wrong place is named', () => {
  assert.is(cellAt([CELL], CELL), CELL);
  assert.throws(() => cellAt([CELL], { ...CELL, row: '9B' }), /no published cell at Table 1, 9B, tok\/s/);
});

test('a summary counts cells by use; its errors and verdict include only cells that test something', () => {
  const comparisons = compare([rule(20, 21), rule(20, 18), rule(20, 60, { use: 'fit' })], () => {});
  assert.equal(comparisons.map(isTest), [true, true, false]);
  const group = { paper: 'helm', table: 'Table 1', what: 'all', comparisons, answer: 'predicted' } as const;
  const row = summaryRow({ ...group, target: 0.1 });
  assert.equal([row.heldOut, row.fit, row.worst?.toFixed(3), row.median?.toFixed(3)], [2, 1, '-0.100', '0.075']);
  assert.is(row.met, true);
  assert.is(summaryRow({ ...group, target: 0.09 }).met, false);
  assert.is(summaryRow({ ...group, target: 0.09, keeps: () => true }).met, true);
  assert.is(summaryRow({ ...group, target: undefined }).met, undefined);
  assert.match(summaryMarkdown([row]), '| HELM | 1 | all | predicted | seen | 2 | 1 | 1 | 7.5 % | −10.0 % |');
});

test.run();
