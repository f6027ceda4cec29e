import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('the bundle of the command line');

let root = '';
test.before.each(() => {
  root = mkdtempSync(join(realpathSync(tmpdir()), 'hearth-bundle-'));
  mkdirSync(join(root, 'bin'));
  for (const file of ['hearth.js', 'bundle.js', 'keep-places.js']) cpSync(join('bin', file), join(root, 'bin', file));
  symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(root, 'bin/hearth.ts'), "console.log((await import('../word.ts')).word);\n");
  writeSource('export const word: string = import.meta.dirname;\n');
});
test.after.each(() => rmSync(root, { recursive: true, force: true }));

function writeSource(text: string): void {
  writeFileSync(join(root, 'word.ts'), text);
}

function started(): string {
  return execFileSync(process.execPath, [join(root, 'bin/hearth.js')], { encoding: 'utf8' }).trim();
}

const bundled = (): string[] => readdirSync(join(root, 'bin/bundle'));

test('modules find where their source lies', () => {
  assert.is(started(), root);
  assert.ok(bundled().length >= 3);
});

test('is used again until a source changes, and then made anew', () => {
  started();
  const made = statSync(join(root, 'bin/bundle/manifest.json')).mtimeMs;
  started();
  assert.is(statSync(join(root, 'bin/bundle/manifest.json')).mtimeMs, made);

  writeSource("export const word = 'of another size';\n");
  assert.is(started(), 'of another size');
  writeSource("export const word = 'of the same size';\n");
  started();
  writeSource("export const word = 'of the SAME size';\n");
  assert.is(started(), 'of the SAME size');
});

test('keeps files that a process may still be running, and removes them after a week', () => {
  started();
  const first = bundled();
  writeSource("export const word = 'another';\n");
  started();
  for (const name of first) assert.ok(bundled().includes(name), name);

  const long = new Date(Date.now() - 8 * 24 * 3600 * 1000);
  for (const name of first) utimesSync(join(root, 'bin/bundle', name), long, long);
  writeSource("export const word = 'a third';\n");
  assert.is(started(), 'a third');
  assert.is(first.filter((name) => bundled().includes(name)).join(), 'manifest.json');
});

test('where nothing can be written tsx compiles the sources', () => {
  writeFileSync(join(root, 'bin/bundle'), 'a file in the place of the folder');
  assert.is(started(), root);
});

test.run();
