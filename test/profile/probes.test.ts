import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { measureDisk } from '../../engine/profile/disk.ts';
import { withWeightsFile } from '../../engine/profile/probes/weights-file.ts';
import { testIf } from '../support/needs.ts';

const addon = loadAddon();
const native = typeof addon !== 'string';
const MEBIBYTE = 2 ** 20;

let folder = '';
let file = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-probes-'));
  file = join(folder, 'weights');
  writeFileSync(file, Buffer.alloc(32 * MEBIBYTE, 0x2a));
});
test.after(() => rmSync(folder, { recursive: true }));

testIf(native, 'the addon is not built', 'disk: both rates, and the share that stayed in memory', () => {
  if (typeof addon === 'string') return;
  const { sequential, random, resident } = measureDisk(addon, file, 32 * MEBIBYTE, () => {});
  assert.ok(sequential.median > 1e5 && random.median > 1e3);
  assert.ok(resident >= 0 && resident <= 1);
});

testIf(native, 'the addon is not built', 'native disk probes refuse what can’t be', () => {
  if (typeof addon === 'string') return;
  assert.throws(() => addon.dropFromMemory(join(folder, 'missing')), /No such file/);
  assert.throws(() => addon.readInOrder(file, 31 * MEBIBYTE, 2 * MEBIBYTE), /ends early/);
  assert.throws(() => addon.faultPages(file, 16 * 1024, 1), /more pages than the file has/);
});

test('the weights file is removed, also if its use fails', async () => {
  const path = join(folder, 'made');
  const failing = withWeightsFile(path, 1, () => {
    assert.ok(readdirSync(folder).includes('made'));
    truncateSync(path);
    throw new Error('in use');
  });
  try {
    await failing;
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, 'in use');
  }
  assert.not.ok(readdirSync(folder).includes('made'));
});

test('an existing file is not overwritten', async () => {
  try {
    await withWeightsFile(file, 1, () => assert.unreachable());
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /exists already/);
  }
  assert.ok(readdirSync(folder).includes('weights'));
});

test.run();
