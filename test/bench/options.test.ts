import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { testIf } from '../support/needs.ts';

const NATIVE = typeof loadAddon() !== 'string';

/** Exit code and stderr of a bench. */
function run(script: string, ...args: string[]): [code: number | null, errors: string] {
  const command = ['--import', 'tsx', join(import.meta.dirname, script), ...args];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 120_000 });
  return [status, stderr];
}

test('npm run bench refuses to time what it does not know', () => {
  const names = 'optimal, predict, halda, ring, pending, memory, tokens, devices, chip, sweep';
  assert.equal(run('run.ts', '--what', 'optimal,fly'), [2, `--what: unknown "fly"; allowed: ${names}\n`]);
});

testIf(
  NATIVE,
  'the addon is not built',
  'npm run bench:engine:kernels refuses formats and instruction sets that there are none of',
  () => {
    const [code, errors] = run('kernels.ts', '--types', 'Q4_K,Q9');
    assert.is(code, 2);
    assert.match(errors, /^--types: unknown "Q9"; allowed: F32, .*\n$/);
    const [other, set] = run('kernels.ts', '--instructions', 'altivec');
    assert.is(other, 2);
    assert.match(set, /^--instructions: unknown "altivec"; allowed: auto, .*scalar\n$/);
  },
);

testIf(
  NATIVE,
  'the addon is not built',
  'npm run bench:engine refuses what it would find out only after an hour',
  () => {
    const [code, errors] = run('engine/run.ts', '--instructions', 'altivec');
    assert.is(code, 2);
    assert.match(errors, /^--instructions: unknown "altivec"; allowed: auto, .*scalar\n$/);
    const [other, out] = run('engine/run.ts', '--out', join(import.meta.filename, 'bench.json'));
    assert.is(other, 2);
    assert.match(out, /^--out .*options\.test\.ts: is a file; give the path of a folder\n$/);
  },
);

test('the bench of experts compared with peers refuses shapes that it has none of', () => {
  const refused = '--shape: unknown "fly"; allowed: olmoe, qwen3, gpt-oss\n';
  assert.equal(run('expert-peers/run.ts', '--shape', 'fly'), [2, refused]);
});

test.run();
