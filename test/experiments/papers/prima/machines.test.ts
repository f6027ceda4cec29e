import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../../../datasets/load.ts';
import { trueCluster } from '../../../../experiments/papers/prima/machines.ts';

const GIB = 2 ** 30;
const stated = loadCluster('prima-home');

function ram(truth: Parameters<typeof trueCluster>[1]) {
  return trueCluster(stated, truth).devices.map(({ name, memory }) => `${name} ${(memory.available / GIB).toFixed(3)}`);
}

test('as stated, with a larger D3, and where all but macOS state 80 % of what is free', () => {
  assert.equal(ram('stated'), ['D3 9.700', 'D4 1.900', 'D1 2.400', 'D2 4.100']);
  assert.equal(ram('d3-larger'), ['D3 17.500', 'D4 1.900', 'D1 2.400', 'D2 4.100']);
  assert.equal(ram('share-reported'), ['D3 12.125', 'D4 2.375', 'D1 2.400', 'D2 5.125']);
});

test.run();
