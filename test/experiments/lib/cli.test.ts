import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runScript } from '../../support/run-script.ts';

const ROOT = join(import.meta.dirname, '../../..');
const test = suite('cli');
let script = '';

/** A script with one option, that fails as the option says. */
test.before(() => {
  const folder = mkdtempSync(join(tmpdir(), 'cli-'));
  script = join(folder, 'toy.mts');
  writeFileSync(
    script,
    `import { runExperiment } from ${JSON.stringify(join(ROOT, 'experiments/lib/cli.ts'))};
     import { InputError } from ${JSON.stringify(join(ROOT, 'engine/input/input-error.ts'))};
     await runExperiment({
       name: 'toy',
       description: 'A toy.',
       configure: (command) => command.option('--fail <how>', 'how to fail').option('--number <n>', 'a number'),
       run: ({ fail }) => {
         if (fail === 'input') throw new InputError('x.json: devices[1]', 'is\\n  missing; give it');
         if (fail === 'defect') throw new TypeError('undefined is not a function');
         console.log('done');
       },
     });`,
  );
});
test.after(() => rmSync(join(script, '..'), { recursive: true }));

test('what goes well ends with 0 and leaves stderr empty', async () => {
  assert.equal(await runScript(script), { code: 0, stdout: 'done\n', stderr: '' });
});

test('--help goes to stdout and ends with 0', async () => {
  const { code, stdout, stderr } = await runScript(script, '--help');
  assert.equal([code, stderr], [0, '']);
  assert.match(stdout, /^Usage: toy \[options\]\n\nA toy\.\n/);
  assert.match(stdout, /--fail <how> +how to fail\n/);
});

test('bad input ends with 2 and one line', async () => {
  assert.equal(await runScript(script, '--fail', 'input'), {
    code: 2,
    stdout: '',
    stderr: 'x.json: devices[1]: is missing; give it\n',
  });
});

test('bad options end with 2 and one line, unknown ones with the nearest', async () => {
  const ended = await Promise.all([
    runScript(script, '--fial', 'x'),
    runScript(script, '--number'),
    runScript(script, 'extra'),
  ]);
  assert.equal(
    ended.map(({ code, stdout, stderr }) => [code, stdout, stderr]),
    [
      [2, '', "unknown option '--fial' (Did you mean --fail?); see toy --help\n"],
      [2, '', "option '--number <n>' argument missing; see toy --help\n"],
      [2, '', 'too many arguments. Expected 0 arguments but got 1; see toy --help\n'],
    ],
  );
});

test('a defect of ours ends with 1 and one line with its place, without a stack', async () => {
  const { code, stdout, stderr } = await runScript(script, '--fail', 'defect');
  assert.equal([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^toy failed: undefined is not a function \(experiments\/lib\/cli\.ts:\d+:\d+\); please report this\n$/,
  );
});

test.run();
