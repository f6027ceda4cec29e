import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCluster } from '../../../../datasets/load.ts';
import { OPERATING_SYSTEMS, withMemory } from '../../../../experiments/papers/prima/machines.ts';

test('only the RAM of one device is changed', () => {
  const home = loadCluster('prima-home');
  const other = withMemory(home, 'D3', 5e9);
  for (const [index, device] of home.devices.entries()) {
    const expected = device.name === 'D3' ? { ...device.memory, available: 5e9 } : device.memory;
    assert.equal(other.devices[index], { ...device, memory: expected });
  }
});

test('one choice of operating systems holds for all systems and tables', () => {
  assert.equal(OPERATING_SYSTEMS, { predicted: 'lru', simulated: 'os' });
});

test.run();
