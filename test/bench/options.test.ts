import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../engine/kernels/native/addon.ts';

const test = suite('bench: options');

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

test('npm run bench:engine:kernels refuses formats and instruction sets that there are none of', () => {
  if (typeof loadAddon() === 'string') return;
  const [code, errors] = run('kernels.ts', '--types', 'Q4_K,Q9');
  assert.is(code, 2);
  assert.match(errors, /^--types: unknown "Q9"; allowed: F32, .*\n$/);
  const [other, set] = run('kernels.ts', '--instructions', 'mmx');
  assert.is(other, 2);
  assert.match(set, /^--instructions: unknown "mmx"; allowed: auto, .*scalar\n$/);
});

test.run();
