import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadClusterFile } from '../../datasets/load.ts';
import { chipOf, productTimes } from '../../notebooks/an-npus-temper/products.ts';

const chip = chipOf(loadClusterFile('hetero-8gen3').cluster);

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

test.run();
