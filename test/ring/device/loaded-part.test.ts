import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { loadPart } from '../../../engine/ring/device/loaded-part.ts';
import { madeFile } from '../../runtime/made-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-part-'));
test.after(() => rmSync(folder, { recursive: true }));

test('a file that has taken the path of a loaded one is not mixed into it', async () => {
  const path = await madeFile({ folder, name: 'two', shape: { layers: 2 } });
  const loaded = loadPart(path, openKernels({ threads: 1 }), 8);
  const others = openKernels({ threads: 1 });
  loaded.mapOn(others);
  copyFileSync(path, `${path}.new`);
  renameSync(`${path}.new`, path);
  assert.throws(
    () => loaded.mapOn(others),
    `another file has taken the place of ${path} since it was loaded; start it again to use that one`,
  );
  assert.throws(() => loaded.partOn(others), /another file has taken the place of/);
  others.close();
  loaded.close();
});

test.run();
