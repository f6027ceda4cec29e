import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { reloadedBytes } from '../../engine/cost/reclaim.ts';
import type { DeviceKind } from '../../engine/hardware/device.ts';

const GRADUAL: readonly DeviceKind[] = ['linux', 'android', 'macos'];

test('weights that fit exactly are not reloaded under any policy', () => {
  for (const kind of [...GRADUAL, 'macos-metal'] as const) {
    assert.is(reloadedBytes(1000, 800, 1000, kind, 'overflow', true), 0);
    assert.is(reloadedBytes(1000, 800, 1000, kind, 'lru', true), 0);
    assert.is(reloadedBytes(1000, 800, 1000, kind, 'double', true), 0);
  }
});

test('overflow: the excess is reloaded for every token (Eqs. 15, 17)', () => {
  for (const kind of GRADUAL) assert.is(reloadedBytes(1000, 800, 700, kind, 'overflow', true), 300);
});

test('overflow: never more than all weights are reloaded', () => {
  assert.is(reloadedBytes(1000, 800, 100, 'linux', 'overflow', false), 800);
});

test('macOS with Metal drops all weights at once (Eq. 16)', () => {
  assert.is(reloadedBytes(1001, 800, 1000, 'macos-metal', 'overflow', true), 800);
});

test('lru: an excess of one byte reloads everything', () => {
  for (const kind of [...GRADUAL, 'macos-metal'] as const) {
    assert.is(reloadedBytes(1001, 800, 1000, kind, 'lru', true), 800);
  }
});

test('double: everything is reloaded twice with prefetching and once without', () => {
  for (const kind of [...GRADUAL, 'macos-metal'] as const) {
    assert.is(reloadedBytes(1001, 800, 1000, kind, 'double', true), 1600);
    assert.is(reloadedBytes(1001, 800, 1000, kind, 'double', false), 800);
  }
});

test.run();
