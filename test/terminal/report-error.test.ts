import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../engine/input/input-error.ts';
import { reportError, StoppedError } from '../../engine/terminal/report-error.ts';
import { testIf } from '../support/needs.ts';

/** The exit code, and what is printed on stderr. */
function reported(error: unknown): [number, string] {
  const write = process.stderr.write;
  let text = '';
  process.stderr.write = ((chunk: string) => {
    text += chunk;
    return true;
  }) as typeof write;
  try {
    return [reportError(error, 'hearth x'), text];
  } finally {
    process.stderr.write = write;
  }
}
const systemError = (code: string, path?: string) => Object.assign(new Error(`${code}: …`), { code, path });

test('bad input is one line and exit code 2', () => {
  assert.equal(reported(new InputError('--n', 'is\nnothing')), [2, '--n: is nothing\n']);
});

test('an option that parseArgs refuses is one line and exit code 2', () => {
  const refusedBy = (args: string[]) => {
    try {
      return parseArgs({ args, options: { types: { type: 'string' } } });
    } catch (error) {
      return error;
    }
  };
  assert.equal(reported(refusedBy(['--wat'])), [2, "Unknown option '--wat'; see hearth x --help\n"]);
  assert.equal(reported(refusedBy(['extra'])), [2, "Unexpected argument 'extra'; see hearth x --help\n"]);
});

test('control characters of a file or a peer don’t reach the terminal', () => {
  assert.equal(reported(new InputError('m.gguf', 'is named \u001b]0;owned\u0007\r\u009b2J')), [
    2,
    'm.gguf: is named ]0;owned 2J\n',
  ]);
});

test('what the operating system refuses is one line and exit code 2', () => {
  const full = 'the disk is full; free some space and run the same command again (ENOSPC)\n';
  assert.equal(reported(systemError('ENOSPC')), [2, full]);
  assert.equal(reported(systemError('ENOSPC', '/data/x')), [2, `/data/x: ${full}`]);
  assert.equal(reported(systemError('EMFILE')), [2, 'too many open files; raise the limit (ulimit -n) (EMFILE)\n']);
});

test('a process goes on without its stderr', async () => {
  const script = `
    import { stopWithoutOutput } from './engine/terminal/report-error.ts';
    stopWithoutOutput();
    process.stdin.once('data', () => {
      process.stderr.write('a line of a log');
      setTimeout(() => console.log('alive'), 200);
      setTimeout(() => process.exit(), 300);
    });`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
  child.stderr.destroy();
  child.stdin.on('error', () => {}).write('go');
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  assert.is(await new Promise((resolve) => child.once('close', resolve)), 0);
  assert.is(text, 'alive\n');
});

test('a run that stops for a reason outside Hearth is one line and exit code 1', () => {
  assert.equal(reported(new StoppedError('point 3 never ends')), [1, 'hearth x stopped: point 3 never ends\n']);
});

test('anything else is a defect of Hearth and exit code 1', () => {
  const [code, text] = reported(new TypeError('x is undefined'));
  assert.is(code, 1);
  assert.match(text, /^hearth x failed: x is undefined.*; please report this\n$/);
});

testIf(existsSync('/dev/full'), 'there is no /dev/full', 'output that can not be written ends in one line', () => {
  const root = join(import.meta.dirname, '../..');
  const run = (command: string) =>
    spawnSync('bash', ['-c', command], { cwd: root, encoding: 'utf8', timeout: 120_000 });
  const hearth = run('node bin/hearth.js --help > /dev/full');
  const full = 'stdout: the disk is full; free some space and run the same command again (ENOSPC)\n';
  assert.equal([hearth.status, hearth.stderr], [2, full]);
  const experiment = run('node --import tsx experiments/npu-stages.ts --help > /dev/full');
  assert.equal([experiment.status, experiment.stderr], [2, full]);
  assert.is(run('node bin/hearth.js inspect nowhere 2> /dev/full').status, 2);
});

testIf(existsSync('/proc/self'), 'there is no /proc', 'a folder that can not be made ends in one line', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', 'experiments/partition-sweep.ts', '--out', '/proc/sweep'],
    { cwd: join(import.meta.dirname, '../..'), encoding: 'utf8', timeout: 120_000 },
  );
  const reason = "ENOENT: no such file or directory, mkdir '/proc/sweep'";
  assert.equal([status, stderr], [2, `--out /proc/sweep: can’t be made (${reason}); give another folder\n`]);
});

test.run();
