import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../engine/input/input-error.ts';
import { readKeys, writeKeys } from '../../../engine/ring/wire/keys.ts';
import { testIf } from '../../support/needs.ts';

let folder = '';
/** A file system of one page, which the first 4096 bytes fill. */
let disk = '';
let isMounted = false;
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-keys-'));
});
test.after(() => {
  if (isMounted) spawnSync('umount', [disk]);
  rmSync(folder, { recursive: true });
});

test('keys are read as they were written, by their owner alone', () => {
  const path = join(folder, 'keys.json');
  const keys = writeKeys(path);
  assert.equal(readKeys(path), keys);
  assert.is(statSync(path).mode & 0o077, 0);
  assert.throws(() => writeKeys(path), /exists already; keys are not overwritten/);
  assert.equal(readKeys(path), keys);
});

testIf(
  process.platform === 'linux' && process.getuid?.() === 0,
  'mounting a file system takes root on Linux',
  'on a full disk no part of a key file is left',
  () => {
    disk = mkdtempSync(join(folder, 'full-'));
    isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', disk]).status === 0;
    if (!isMounted) return console.log('skipped: a file system can not be mounted here');
    writeFileSync(join(disk, 'rest'), Buffer.alloc(4096));
    const path = join(disk, 'keys.json');
    assert.throws(
      () => writeKeys(path),
      (error: Error) => error instanceof InputError && error.message.includes('ENOSPC'),
    );
    assert.not(existsSync(path));
  },
);

test.run();
