import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../../datasets/load.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import { bestCut } from '../../engine/schedule/tensor-partition/best-cut.ts';
import { chipOf } from '../../notebooks/an-npus-temper/products.ts';
import { bestOf, cutCurve } from '../../notebooks/one-tensor-cut-in-two/cut-curve.ts';

const chip = chipOf(loadClusterFile('hetero-8gen3').cluster);
const operators = modelOperators(namedW4a16Model(loadCatalogue(), 'Llama-3-8B'));
const NAMES = ['qkv', 'attention-output', 'gate-up', 'down'] as const;

test('the lowest point of the curve is what the solver finds', () => {
  for (const name of NAMES) {
    for (const tokens of [43, 300, 512]) {
      const operator = operators[name];
      const { best } = bestCut({ device: chip, operator, tokens, synchronisation: 'fast' });
      assert.is(bestOf(cutCurve(chip, operator, tokens)).cost.seconds, best.cost.seconds, `${name}, ${tokens} tokens`);
    }
  }
});

test('the best cut is faster than either processor alone, and ends on both at about the same time', () => {
  for (const name of NAMES) {
    const curve = cutCurve(chip, operators[name], 300);
    const { seconds, ends } = bestOf(curve).cost;
    assert.ok(seconds < Math.min(curve[0]?.cost.seconds ?? 0, curve.at(-1)?.cost.seconds ?? 0), name);
    assert.ok(Math.abs(ends.first / ends.second - 1) < 0.2, `${name}: ${ends.first} and ${ends.second} s`);
  }
});

test('the NPU gets most of gate-up, and about half of down', () => {
  const share = (name: 'gate-up' | 'down'): number =>
    bestOf(cutCurve(chip, operators[name], 300)).cut.npuRows / operators[name].rows;
  assert.ok(share('gate-up') > 0.8);
  assert.ok(Math.abs(share('down') - 0.5) < 0.1);
});

test.run();
