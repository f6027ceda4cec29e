import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Comparison } from '../../../../experiments/papers/comparison.ts';
import { orderAgrees, orderedPairs } from '../../../../experiments/papers/heterollm/strategies.ts';

const figure = (column: string, published: number, simulated: number, more: object = {}): Comparison =>
  ({
    cell: { table: '§5.2.2', row: 'Hetero-tensor, 525 tokens', column },
    ...{ unit: 'x', published, predicted: undefined, simulated, use: 'held-out', ...more },
  }) as unknown as Comparison;
const shown = (comparisons: readonly Comparison[]): string[] =>
  orderedPairs(comparisons).map(
    (pair) =>
      `${pair.faster} < ${pair.slower}: ${pair.ratio.simulated?.toFixed(2)} ${orderAgrees(pair) ? 'yes' : 'no'}`,
  );

test('a system is faster than each that it has a speedup over, and the one with the smaller speedup than the other', () => {
  assert.equal(shown([figure('speedup over Online-prepare', 2.2, 1.8), figure('speedup over Padding', 2, 2.4)]), [
    'Hetero-tensor < Online-prepare: 1.80 yes',
    'Padding < Online-prepare: 0.75 no',
    'Hetero-tensor < Padding: 2.40 yes',
  ]);
});

test('gains and reductions are speedups too; what is said of nothing else is no pair', () => {
  assert.equal(
    shown([
      figure('prefill speedup over Hetero-layer', 0.3, -0.2, { unit: 'gain' }),
      figure('latency reduction against Pipe (min)', 0.132, 0.2, { unit: 'share' }),
      figure('speedup over [K,4096] x [4096,14336]', 6, 5),
      figure('power', 2.23, 2),
    ]).filter((text) => text.startsWith('Hetero-tensor')),
    ['Hetero-tensor < Hetero-layer: 0.80 no', 'Hetero-tensor < Pipe: 1.25 yes'],
  );
});

test('a pair whose figures were fitted to is left out', () => {
  const fitted = { use: 'fit' };
  const two = [figure('speedup over MLC', 5.64, 5.64, fitted), figure('speedup over MNN', 5.85, 5.85, fitted)];
  assert.equal(shown(two), []);
  assert.equal(shown([...two, figure('speedup over PPL-OpenCL', 2.99, 6)]), [
    'PPL-OpenCL < MLC: 0.94 no',
    'PPL-OpenCL < MNN: 0.97 no',
    'Hetero-tensor < PPL-OpenCL: 6.00 yes',
  ]);
});

test.run();
