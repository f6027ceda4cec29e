import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { completionScript, SHELLS } from '../../commands/help/completions.ts';
import { manPage } from '../../commands/help/man-page.ts';
import { helpFiles } from '../support/help-files.ts';
import { testIf } from '../support/needs.ts';

const PLAN = {
  name: 'plan',
  description: 'Says what runs.',
  options: [
    { flags: '--cluster <file>', long: '--cluster', value: 'file', description: "a cluster's file", standard: 'home' },
    { flags: '--json', long: '--json', description: 'print JSON' },
  ],
};

test('the reference of options and the first lines of help are of the commands; npm run renew:options', async () => {
  for (const [file, text] of Object.entries(await helpFiles())) assert.is(readFileSync(file, 'utf8'), text, file);
});

test('bash completes commands, options and files', () => {
  const script = completionScript('bash', [PLAN]);
  const complete = (...words: string[]): string[] => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const ask = `${script}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _hearth; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', ask], { encoding: 'utf8' }).trim().split('\n');
  };
  assert.equal(complete('hearth', 'pl'), ['plan']);
  assert.equal(complete('hearth', 'plan', '--'), ['--cluster', '--json']);
  assert.equal(complete('hearth', 'plan', 'package.js'), ['package.json']);
});

for (const shell of SHELLS) {
  const found = spawnSync(shell, ['-c', 'true']).status === 0;
  testIf(found, `${shell} isn't installed`, `${shell} can read its script`, () => {
    execFileSync(shell, ['-n'], { input: completionScript(shell, [PLAN]) });
  });
}

test('a man page has each option with its default', () => {
  const page = manPage(PLAN, '1.2.3');
  assert.match(page, /^\.TH HEARTH-PLAN 1 "" "Hearth 1\.2\.3"/);
  assert.match(page, /\.B \\-\\-cluster <file>\na cluster's file Default: home\./);
});

test.run();
