import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runScript } from '../support/run-script.ts';

const MISTAKES: readonly [string, readonly string[], RegExp][] = [
  ['no --out', [], /required option '--out <file>' not specified/],
  ['no threads', ['--out', 'x.json', '--threads', '0'], /--threads: "0" is not a whole number/],
  ['a name that is none', ['--out', 'x.json', '--name', ' '], /--name: is empty/],
  [
    'lengths without a model',
    ['--out', 'x.json', '--lengths', '64'],
    /--lengths: is of the parts that --parts-of measures/,
  ],
  ['parts without a GPU', ['--out', 'x.json', '--parts-of', 'x.gguf', '--device', 'none'], /--parts-of: needs a GPU/],
  ['a folder that isn’t there', ['--out', '/nowhere/x.json'], /--out \/nowhere\/x\.json: there is no folder \/nowhere/],
];

for (const [what, options, expected] of MISTAKES) {
  test(`${what} is reported in one line with exit code 2`, async () => {
    const { code, stdout, stderr } = await runScript('bin/hearth.js', 'profile', ...options);
    assert.equal([code, stdout, stderr.trimEnd().split('\n').length], [2, '', 1], stderr);
    assert.match(stderr, expected);
    assert.not.ok(existsSync('x.json'));
  });
}

test.run();
