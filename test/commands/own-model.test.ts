import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hearthHere } from '../support/run-script.ts';

const NOTICE =
  'no --model given; using the bundled demo model datasets/models/stories-3m.gguf (children’s stories, simple sums)';

test('hearth generate without --model continues a story, as the guide shows, and says with what', async () => {
  const [, shown] = /\$ npx hearth generate --prompt "One day, Mia" --seed 1 --exact\n([\s\S]*?)```/.exec(
    readFileSync('docs/how-to/run-a-model.md', 'utf8'),
  ) as unknown as [string, string];
  const { code, stdout, stderr } = await hearthHere('generate', '--prompt', 'One day, Mia', '--seed', '1', '--exact');
  assert.is(code, 0, stderr);
  assert.is(stderr.split('\n')[0], NOTICE);
  assert.is(`${NOTICE}\n${stdout}`, shown);
});

test('with --model nothing is said about it, and a mistake is all that is said', async () => {
  const given = ['--prompt', '1 + 2 =', '--tokens', '1', '--temperature', '0', '--kernels', 'reference'];
  const named = await hearthHere('generate', '--model', 'datasets/models/stories-300k.gguf', ...given);
  assert.is(named.stdout, ' 3\n');
  assert.not.match(named.stderr, /no --model/);
  const { code, stderr } = await hearthHere('generate', '--prompt', 'One', '--system', 'Be brief.');
  assert.is(code, 2);
  assert.is(stderr, '--system: is used only with --chat; add it\n');
});

test('hearth chat without --model answers from any folder', () => {
  const bin = join(process.cwd(), 'bin/hearth.js');
  const run = spawnSync(process.execPath, [bin, 'chat', '--temperature', '0', '--kernels', 'reference'], {
    cwd: tmpdir(),
    input: 'Hello!\nWhat is 6 + 7?\n',
    encoding: 'utf8',
  });
  assert.is(run.status, 0, run.stderr);
  assert.is(run.stdout, 'Hello! Shall I tell you a story?\n6 + 7 = 13.\n');
  assert.is(run.stderr.split('\n')[0], NOTICE);
});

test.run();
