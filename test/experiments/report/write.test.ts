import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkOutput, writeFiles } from '../../../experiments/report/write.ts';

const test = suite('write');
let folder = '';
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'write-'));
});
test.after.each(() => rmSync(folder, { recursive: true }));

function message(run: () => void): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message.replaceAll(folder, '');
  }
  return 'nothing was thrown';
}

test('files are written with their directories, and nothing else', () => {
  const out = join(folder, 'a', 'b');
  writeFiles(
    out,
    new Map([
      ['one.txt', '1'],
      ['plans/two.txt', '2'],
    ]),
  );
  assert.equal(readdirSync(out, { recursive: true }).map(String).sort(), ['one.txt', 'plans', 'plans/two.txt']);
  assert.is(readFileSync(join(out, 'plans/two.txt'), 'utf8'), '2');
});

test('files of an earlier run are replaced, and others stay', () => {
  writeFileSync(join(folder, 'one.txt'), 'old');
  writeFileSync(join(folder, 'mine.txt'), 'mine');
  writeFiles(folder, new Map([['one.txt', 'new']]));
  assert.is(readFileSync(join(folder, 'one.txt'), 'utf8'), 'new');
  assert.is(readFileSync(join(folder, 'mine.txt'), 'utf8'), 'mine');
});

test('if one file can’t be written none is', () => {
  mkdirSync(join(folder, 'two.txt'));
  writeFileSync(join(folder, 'one.txt'), 'old');
  const files = new Map([
    ['one.txt', 'new'],
    ['new/three.txt', '3'],
    ['two.txt', '2'],
  ]);
  assert.is(
    message(() => writeFiles(folder, files)),
    '--out : "/two.txt" is a directory; a file is to be written there',
  );
  assert.is(readFileSync(join(folder, 'one.txt'), 'utf8'), 'old');
  assert.equal(readdirSync(folder).sort(), ['one.txt', 'two.txt']);
});

test('a file in place of the directory is named', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const out of [file, join(file, 'below')]) {
    assert.match(
      message(() => writeFiles(out, new Map([['x', '']]))),
      /^--out \/file(\/below)?: "\/file" is a file; name a directory$/,
    );
  }
  assert.is(
    message(() => checkOutput('')),
    '--out: is empty; name a directory',
  );
});

test('a refusal by the file system is an input error', () => {
  const nowhere = existsSync('/proc/self') ? '/proc/results' : join(folder, 'x\0');
  assert.match(
    message(() => writeFiles(nowhere, new Map([['x', '']]))),
    /: can’t be written: .+$/,
  );
});

test('checking an output directory creates nothing', () => {
  checkOutput(join(folder, 'not', 'there'));
  assert.equal(readdirSync(folder), []);
});

test.run();
