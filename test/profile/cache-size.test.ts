import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lastLevelCacheBytes } from '../../engine/profile/cache-size.ts';
import { hostOf } from './host-of.ts';

const FOLDER = '/sys/devices/system/cpu/cpu0/cache';
const cache = (index: number, level: number, size: string) => ({
  [`${FOLDER}/index${index}/level`]: `${level}\n`,
  [`${FOLDER}/index${index}/size`]: `${size}\n`,
});

test('the last-level cache is that of the highest level, from the third on', () => {
  const two = { ...cache(0, 1, '32K'), ...cache(1, 2, '1024K') };
  assert.is(lastLevelCacheBytes(hostOf({ ...two, ...cache(2, 3, '32768K') })), 32 * 2 ** 20);
  assert.is(lastLevelCacheBytes(hostOf({ ...two, ...cache(2, 3, '8M'), ...cache(3, 4, '64M') })), 64 * 2 ** 20);
  assert.is(lastLevelCacheBytes(hostOf(two)), undefined);
  assert.is(lastLevelCacheBytes(hostOf({})), undefined);
});

test.run();
