import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('the bundle of the command line');

/** Modules that the command line runs in threads. */
const THREADS = [
  'commands/catalogue-thread.ts',
  'engine/gguf/make/worker.ts',
  'engine/gguf/quantize/worker.ts',
  'engine/ring/device/npu/thread.ts',
  'engine/text/grammar/states-thread.ts',
];

let root = '';
test.before.each(() => {
  root = mkdtempSync(join(realpathSync(tmpdir()), 'hearth-bundle-'));
  mkdirSync(join(root, 'bin'));
  for (const file of ['hearth.js', 'bundle.js', 'bundled-module.js', 'keep-places.js'])
    cpSync(join('bin', file), join(root, 'bin', file));
  for (const thread of THREADS) {
    mkdirSync(join(root, thread, '..'), { recursive: true });
    writeFileSync(join(root, thread), 'export default (): string => import.meta.url;\n');
  }
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

test('threads run modules of the bundle, which find where their source lies', () => {
  cpSync('engine/gguf/own-module.ts', join(root, 'engine/gguf/own-module.ts'));
  writeSource(`
    import { ownModule } from './engine/gguf/own-module.ts';
    const { path, execArgv } = ownModule(new URL('./engine/gguf/make/worker.ts', import.meta.url));
    const { default: own } = await import(path);
    export const word = [path, execArgv.length, own()].join(' ');
  `);
  const [path = '', options, url = ''] = started().split(' ');
  assert.ok(bundled().includes(path.slice(join(root, 'bin/bundle/').length)), path);
  assert.is(options, '0');
  assert.is(url, pathToFileURL(join(root, 'engine/gguf/make/worker.ts')).href);
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
  const { files } = JSON.parse(readFileSync(join(root, 'bin/bundle/manifest.json'), 'utf8'));
  const current = [...files, 'manifest.json'];
  assert.equal(
    first.filter((name) => bundled().includes(name)),
    first.filter((name) => current.includes(name)),
  );
  assert.ok(first.some((name) => !current.includes(name)));
});

test('where nothing can be written tsx compiles the sources', () => {
  writeFileSync(join(root, 'bin/bundle'), 'a file in the place of the folder');
  assert.is(started(), root);
});

test.run();
