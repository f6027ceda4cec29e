import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSweep, parseSweep } from '../../../experiments/sweep/sweep.ts';
import { hearthHere } from '../../support/run-script.ts';

const SWEEP = createSweep('halda-gap', { seed: 1 }, 10);
const REFUSED = /is of another version of code or data, or was changed; this is version [0-9a-f]{16}/;

test('a sweep is read back as it was written', () => {
  assert.equal(parseSweep(JSON.stringify(SWEEP), 'sweep.json'), SWEEP);
});

test('one of other inputs, or of other code, has another hash and is refused', async () => {
  for (const change of [{ count: 11 }, { setting: SWEEP.setting.replace('1', '2') }, { id: `0${SWEEP.id.slice(1)}0` }])
    assert.throws(() => parseSweep(JSON.stringify({ ...SWEEP, ...change }), 'sweep.json'), REFUSED);
  const folder = mkdtempSync(join(tmpdir(), 'hearth-sweep-'));
  try {
    writeFileSync(join(folder, 'sweep.json'), JSON.stringify({ ...SWEEP, count: 11, shards: 2 }));
    const { code, stderr } = await hearthHere('sweep-shard', '--folder', folder, '--shard', '0');
    assert.is(code, 2);
    assert.match(stderr, REFUSED);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what is no sweep is refused with the kinds that there are', () => {
  assert.throws(
    () => parseSweep('{', 'sweep.json'),
    /^sweep\.json: is not a sweep; its kind must be one of .*halda-gap/,
  );
});

test.run();
