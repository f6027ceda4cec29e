import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keepProfile, readKeptProfile } from '../../commands/kept-profile.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-kept-'));
const { XDG_CACHE_HOME } = process.env;
test.before(() => {
  process.env.XDG_CACHE_HOME = folder;
});
test.after(() => {
  if (XDG_CACHE_HOME === undefined) Reflect.deleteProperty(process.env, 'XDG_CACHE_HOME');
  else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  rmSync(folder, { recursive: true });
});

const WHAT = { model: join(folder, 'model.gguf'), formats: ['Q4_K', 'Q6_K'], threads: 4, gpu: 'none' } as const;
const PROFILE = JSON.stringify({
  name: 'measured',
  devices: [
    {
      name: 'm',
      os: 'linux',
      memory: { total: '16 GiB' },
      cpu: { cores: 4, compute: '40 GFLOPS', bandwidth: '10 GB/s' },
      disk: { sequential: '1 GB/s' },
    },
  ],
  links: { default: { latency: '1 ms', bandwidth: '1 Gbps' } },
});

test('what was measured is kept with its day, for the same formats, threads and GPU in any order', () => {
  assert.is(readKeptProfile(WHAT), undefined);
  keepProfile(WHAT, PROFILE);
  const kept = readKeptProfile({ ...WHAT, formats: ['Q6_K', 'Q4_K'] });
  assert.is(kept?.text, PROFILE);
  assert.match(kept?.day ?? '', /^20\d\d-\d\d-\d\d$/);
  assert.is(readKeptProfile({ ...WHAT, formats: ['Q8_0'] }), undefined);
  assert.is(readKeptProfile({ ...WHAT, threads: 2 }), undefined);
  assert.is(readKeptProfile({ ...WHAT, gpu: 'RTX' }), undefined);
});

test('of another version, or damaged, it is not used', () => {
  keepProfile(WHAT, PROFILE);
  const path = readKeptProfile(WHAT)?.path ?? '';
  const text = readFileSync(path, 'utf8');
  const { of, ...rest } = JSON.parse(text);
  for (const damaged of [
    '',
    text.slice(0, -100),
    JSON.stringify({ ...rest, of: { ...of, version: '0.0.1' } }),
    JSON.stringify({ of, ...rest, profile: { devices: [] } }),
    JSON.stringify({ of, ...rest, day: '\u001b[31m' }),
  ]) {
    writeFileSync(path, damaged);
    assert.is(readKeptProfile(WHAT), undefined, damaged);
  }
  keepProfile(WHAT, PROFILE);
  assert.is(readKeptProfile(WHAT)?.text, PROFILE);
  assert.equal(readdirSync(join(folder, 'hearth')).length, 1);
});

test.run();
