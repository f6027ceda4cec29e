import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runScript } from '../../support/run-script.ts';

const ROOT = join(import.meta.dirname, '../../..');
const test = suite('experiment');
let folder = '';
let script = '';
let out = '';

/** An experiment that reports its options, or fails on demand. */
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'experiment-'));
  script = join(folder, 'toy.mts');
  out = join(folder, 'out');
  const from = (path: string): string => JSON.stringify(join(ROOT, path));
  writeFileSync(
    script,
    `import { runExperiment } from ${from('experiments/report/experiment.ts')};
     import { count, eitherFlag, flag, text } from ${from('experiments/report/options.ts')};
     import { InputError } from ${from('engine/input/input-error.ts')};
     await runExperiment({
       name: 'toy',
       description: 'A toy.',
       options: {
         what: text('<what>', 'what to do'),
         number: count('--number <n>', 'a number', { default: 3, most: 9 }),
         subsets: eitherFlag('--subsets', 'all', 'none'),
         trace: flag('--trace', 'traces'),
       },
       json: 'toy.json',
       files: ['toy.csv', 'plans/'],
       run: ({ out, json, ...given }, { progress }) => {
         progress(2).step('one');
         if (given.what === 'input') throw new InputError('x.json: devices[1]', 'is\\n  missing; give it');
         if (given.what === 'defect') throw new TypeError('undefined is not a function');
         return {
           subtitle: 'a toy',
           findings: ['It works.', 'It ends.'],
           data: given,
           text: ['first\\n', 'second'],
           files: { 'toy.csv': 'a\\n', 'plans/1.json': '{}' },
           page: { title: 'The toy', sections: [] },
         };
       },
     });`,
  );
});
test.after(() => rmSync(folder, { recursive: true }));

test('all files are written and the findings printed', async () => {
  const { code, stdout, stderr } = await runScript(script, 'work', '--out', out);
  assert.equal([code, stderr], [0, '']);
  assert.is(
    stdout,
    `a toy\n\nfirst\n\nsecond\n\nIt works. It ends.\n\nReport: ${out}/report.html (next to it toy.csv, toy.json, 1 file in plans/)\n`,
  );
  assert.equal(readdirSync(out).sort(), ['plans', 'report.html', 'toy.csv', 'toy.json']);
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  assert.match(page, '<p class="headline">It works.</p>');
  assert.match(page, '<p class="subtitle">a toy</p>');
  assert.match(page, /The findings in full.*It ends\./s);
});

test('--json prints the JSON, with parsed options and defaults', async () => {
  const { stdout } = await runScript(script, 'work', '--json', '--no-subsets', '--number', '9', '--out', out);
  assert.equal(JSON.parse(stdout), { what: 'work', number: 9, subsets: false, trace: false, seed: 1 });
  assert.is(readFileSync(join(out, 'toy.json'), 'utf8'), stdout);
  const other = await runScript(script, 'work', '--json', '--trace', '--seed', '7', '--out', out);
  assert.equal(JSON.parse(other.stdout), { what: 'work', number: 3, trace: true, seed: 7 });
});

test('--help prints to stdout and exits with 0', async () => {
  const { code, stdout, stderr } = await runScript(script, '--help');
  assert.equal([code, stderr], [0, '']);
  assert.match(stdout, /^Usage: toy \[options\] <what>\n\nA toy\.\n/);
  assert.match(stdout, /--number <n> +a number \(default: 3\)\n/);
  assert.match(stdout.replace(/\s+/g, ' '), 'where report.html, toy.csv, plans/, toy.json go (default: "results/toy")');
});

test('bad input is reported in one line with exit code 2', async () => {
  assert.equal(await runScript(script, 'input', '--out', out), {
    code: 2,
    stdout: '',
    stderr: 'x.json: devices[1]: is missing; give it\n',
  });
});

test('bad options are reported in one line with exit code 2, unknown ones with a suggestion', async () => {
  const ended = await Promise.all([
    runScript(script, 'work', '--numbr', 'x'),
    runScript(script, 'work', '--number'),
    runScript(script, 'work', '--number', '10'),
    runScript(script, 'work', 'extra'),
    runScript(script, 'work', '--out', script),
  ]);
  assert.equal(
    ended.map(({ code, stdout, stderr }) => [code, stdout, stderr]),
    [
      [2, '', "unknown option '--numbr' (Did you mean --number?); see toy --help\n"],
      [2, '', "option '--number <n>' argument missing; see toy --help\n"],
      [2, '', '--number: "10" is not a whole number between 1 and 9\n'],
      [2, '', 'too many arguments. Expected 1 argument but got 2; see toy --help\n'],
      [2, '', `--out ${script}: "${script}" is a file; name a directory\n`],
    ],
  );
});

test('a defect is reported in one line with its location and exit code 1', async () => {
  const { code, stdout, stderr } = await runScript(script, 'defect', '--out', out);
  assert.equal([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^toy failed: undefined is not a function \(experiments\/report\/experiment\.ts:\d+:\d+\); please report this\n$/,
  );
});

test.run();
