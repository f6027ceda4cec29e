import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PublishedCell } from '../../../../datasets/published.ts';
import {
  helmQuantity,
  inUnit,
  printedRange,
  quantityKey,
  secondsOf,
} from '../../../../experiments/papers/helm/quantities.ts';

const CELL: PublishedCell = {
  paper: 'helm',
  table: 'Table 6.2',
  row: '3090 / Qwen3-4B',
  column: 'B=4',
  value: 50,
  unit: 'tok/s',
  basis: 'measured',
  noise: 0.05,
  noiseFrom: 'rounding',
  use: 'held-out',
  cluster: 'helm-3090',
  model: 'Qwen3-4B',
  system: 'helm',
  metric: 'throughput',
  note: '',
};

test('throughput of a batch is its size over the seconds of a step', () => {
  assert.is(secondsOf(50, 'tok/s', 4), 0.08);
  assert.is(inUnit(0.08, 'tok/s', 4), 50);
  assert.is(secondsOf(80, 'ms', 1), 0.08);
  assert.is(inUnit(0.08, 'ms', 1), 80);
  assert.throws(() => secondsOf(1, 'GB/s', 1), /"GB\/s" is not a unit of a time or a rate of tokens/);
});

test('a throughput and a latency of one system, model and machine are one quantity; another batch is another', () => {
  const throughput = helmQuantity({ ...CELL, table: 'Table 6.1', column: 'HELM tok/s' });
  const latency = helmQuantity({ ...CELL, table: '§6.3', metric: 'tpot', unit: 'ms', column: 'p50' });
  const batch = helmQuantity(CELL);
  assert.ok(throughput && latency && batch);
  assert.is(quantityKey(throughput), quantityKey(latency));
  assert.is(batch.batch, 4);
  assert.is.not(quantityKey(batch), quantityKey(throughput));
  assert.is(helmQuantity({ ...CELL, metric: 'bandwidth' }), undefined);
});

test('the printed range of a quantity includes rounding and is in the unit of the cell', () => {
  const one = { ...CELL, table: 'Table 6.1', column: 'HELM tok/s', value: 20 };
  const other = { ...one, metric: 'tpot', unit: 'ms', value: 40, noise: 5, noiseFrom: 'disagreement: Table 6.1' };
  assert.equal(printedRange(one, [one]), [19.95, 20.05]);
  const [least, most] = printedRange(one, [one, other]) ?? [];
  assert.is(least, 19.95);
  assert.ok(Math.abs(Number(most) - 1000 / 39.5) < 1e-9);
  assert.is(printedRange({ ...one, value: 'OOM' }, [one]), undefined);
});

test.run();
