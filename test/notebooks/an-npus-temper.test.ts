import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../../datasets/load.ts';
import { modelOperators } from '../../engine/model/operators.ts';
import { bestCut } from '../../engine/schedule/tensor-partition/best-cut.ts';
import { cutCurve, promptTimes, SYSTEMS } from '../../notebooks/an-npus-temper/cuts.ts';
import { chipOf, productTimes } from '../../notebooks/an-npus-temper/products.ts';

const { cluster } = loadClusterFile('hetero-8gen3');
const chip = chipOf(cluster);
const model = namedW4a16Model(loadCatalogue(), 'Llama-3-8B');

test('the NPU climbs in stairs of 32 tokens, the GPU does not', () => {
  const at = (columns: number) => productTimes(chip, { rows: 4096, inner: 4096, columns });
  assert.is(at(225).npu, at(256).npu);
  assert.ok(at(257).npu > 1.1 * at(256).npu);
  assert.ok(at(226).gpu > at(225).gpu);
  assert.equal([at(256).padding, Number(at(225).padding.toFixed(3))], [0, 0.121]);
});

test('the NPU is fast in one order, and with a short inner dimension', () => {
  const { npu, reversed, onChip } = productTimes(chip, { rows: 14336, inner: 4096, columns: 512 });
  assert.ok(reversed > 4 * npu);
  assert.is(onChip, 1);
  const long = productTimes(chip, { rows: 4096, inner: 14336, columns: 512 });
  assert.ok(long.npu > 2 * npu);
  assert.ok(long.onChip < 0.3);
});

test('the lowest point of the curve is what the solver finds', () => {
  const operators = modelOperators(model);
  for (const name of ['qkv', 'attention-output', 'gate-up', 'down'] as const) {
    for (const tokens of [43, 300, 512]) {
      const operator = operators[name];
      const lowest = Math.min(...cutCurve(chip, operator, tokens).map(({ cost }) => cost.seconds));
      const { best } = bestCut({ device: chip, operator, tokens, synchronisation: 'fast' });
      assert.is(lowest, best.cost.seconds, `${name}, ${tokens} tokens`);
    }
  }
});

test('GPU and NPU together are the fastest at every length that the lesson shows', () => {
  for (let tokens = 43; tokens <= 1003; tokens += 96) {
    const times = promptTimes(cluster, model, tokens);
    assert.is(times.length, Object.keys(SYSTEMS).length);
    const least = times.reduce((fastest, one) => (one.seconds < fastest.seconds ? one : fastest));
    assert.is(least.system, 'hetero-tensor', `${tokens} tokens`);
  }
});

test.run();
