import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  checkDifferentFiles,
  checkOutputFile,
  makeOutputFolder,
  type OutputFile,
  writeOutputFile,
} from '../../commands/output-file.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { checkOutput } from '../../experiments/report/write.ts';
import { madeFile } from '../runtime/made-file.ts';
import { hearthHere } from '../support/run-script.ts';

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
/** Why a trace may not be written to a path; empty if it may. */
const problem = (path: string, options: Partial<OutputFile> = {}): string => {
  try {
    checkOutputFile({ flag: '--trace', path, kind: 'a trace', inputs: [], force: false, ...options });
    return '';
  } catch (error) {
    assert.instance(error, InputError);
    return (error as Error).message.replaceAll(folder, 'F');
  }
};

test('a file that is not there yet may be written, into a folder that is', () => {
  assert.is(problem(join(folder, 'none.json')), '');
  assert.is(problem(join(folder, 'no/none.json')), '--trace F/no/none.json: there is no folder F/no; create it first');
  assert.is(problem(folder), '--trace F: is a folder; give the path of a file');
  assert.is(problem('/dev/null'), '');
  assert.is(
    problem('/dev/null', { kind: 'a GGUF file' }),
    '--trace /dev/null: is a device or a pipe; give the path of a file',
  );
});

test('a file is replaced only with --force, and only by a file of its kind', () => {
  const trace = file('old.json', '{"traceEvents":[]}');
  const notes = file('notes.txt', 'mine');
  assert.is(problem(trace), '--trace F/old.json: exists; give another path, or --force to replace a trace');
  assert.is(problem(trace, { force: true }), '');
  const refused = '--trace F/notes.txt: exists and is not a trace, so it is not replaced; give another path';
  assert.is(problem(notes, { force: true }), refused);
  assert.is(problem(file('empty', ''), { force: true }), '');
});

test('a file that the command reads is never replaced, whatever its name', () => {
  const model = file('m.json', '{"traceEvents":[]}');
  linkSync(model, join(folder, 'hard.json'));
  symlinkSync(model, join(folder, 'soft.json'));
  for (const name of ['m.json', 'hard.json', 'soft.json'])
    assert.is(
      problem(join(folder, name), { inputs: [undefined, model], force: true }),
      `--trace F/${name}: is a file that this command reads; give another path`,
    );
});

test('an empty path, - and a link to nothing are no places for an output', () => {
  assert.is(problem(''), '--trace: is empty; give the path of a file');
  assert.is(problem('-'), '--trace -: doesn’t mean stdout here; give the path of a file, ./- for one named -');
  const [dangling, loop, other] = ['dangling', 'loop', 'other'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  symlinkSync(join(folder, 'nowhere'), dangling);
  symlinkSync(other, loop);
  symlinkSync(loop, other);
  for (const path of [dangling, loop])
    assert.is(
      problem(path, { force: true }),
      `--trace ${path.replace(folder, 'F')}: is a link to nothing; give another path, or remove the link`,
    );
  assert.throws(() => makeOutputFolder('--out', dangling), /is a link to nothing/);
  assert.throws(() => makeOutputFolder('--out', ''), /^--out: is empty; give the path of a folder$/);
  assert.throws(() => checkOutput('-'), /^--out -: doesn’t mean stdout here/);
  assert.throws(() => checkOutput(dangling), /is a link to nothing/);
});

test('what a killed process left next to an output is removed by the next one that writes it', () => {
  const path = join(folder, 'killed.json');
  const left = temporaryPath(path).replace(`.${process.pid}.`, `.${spawnSync('true').pid}.`);
  const [running, others] = [
    left.replace(/\.\d+\.tmp$/, `.${process.ppid}.tmp`),
    join(folder, 'killed.json.elsewhere.1.tmp'),
  ];
  for (const name of [left, running, others]) writeFileSync(name, '');
  writeOutputFile({ flag: '--trace', path }, '{}');
  assert.equal(
    [left, running, others, path].map((name) => existsSync(name)),
    [false, true, true, true],
  );
  for (const name of [running, others]) rmSync(name);
});

test('a pipe or a device as a model is refused at once', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of [pipe, '/dev/zero', folder]) {
    const { code, stderr } = await hearthHere('generate', '--model', path, '--prompt', 'a');
    assert.equal([code, stderr], [2, `${path}: is not a regular file; give the path of a GGUF file\n`]);
  }
});

test('two outputs of a command are two files, however their paths are written', () => {
  symlinkSync(folder, join(folder, 'here'));
  const output = (flag: string, path: string): OutputFile => ({ flag, path, kind: 'a plan', inputs: [], force: false });
  const [plan, same] = [join(folder, 'both.json'), join(folder, 'here/both.json')];
  const other = output('--trace', join(folder, 'other.json'));
  checkDifferentFiles([output('--save-plan', plan), undefined, other]);
  checkDifferentFiles([output('--save-plan', '/dev/null'), output('--trace', '/dev/null')]);
  for (const path of [plan, same])
    assert.throws(
      () => checkDifferentFiles([output('--save-plan', plan), other, output('--trace', path)]),
      `--trace ${path}: is also the file of --save-plan; give another path`,
    );
});

test('the folder of an output is made, or the reason why it can not be', () => {
  const deep = join(folder, 'one/two');
  for (let time = 0; time < 2; time++) makeOutputFolder('--out', deep);
  assert.equal(readdirSync(join(folder, 'one')), ['two']);
  const text = file('text', 'mine');
  const isFile = /is a file; give the path of a folder/;
  for (const path of [text, join(text, 'x'), '/dev/full', '/dev/null/x'])
    assert.throws(() => makeOutputFolder('--out', path), isFile);
  assert.throws(() => makeOutputFolder('--out', '/proc/x/y'), /--out .proc.x: can’t be made/);
});

test('a file that can not be written leaves what was there, and nothing else', () => {
  const own = mkdtempSync(join(folder, 'own-'));
  const path = join(own, 'x'.repeat(250)); // with its temporary suffix the name is too long
  writeFileSync(path, 'old');
  assert.throws(() => writeOutputFile({ flag: '--trace', path }, 'new'), /can’t be written/);
  assert.is(readFileSync(path, 'utf8'), 'old');
  assert.is(readdirSync(own).length, 1);
  assert.throws(() => writeOutputFile({ flag: '--trace', path: '/dev/full' }, 'new'), /can’t be written/);
});

test('no command replaces its model, or a file of another kind', async () => {
  const model = await madeFile({ folder, name: 'tiny' });
  const before = readFileSync(model);
  const own = mkdtempSync(join(folder, 'parts-'));
  const plan = file('plan.json', JSON.stringify(PLAN));
  const twice = ['--save-plan', join(own, 'x'), '--trace', join(own, 'x')];
  const isRead = 'is a file that this command reads';
  const cases: readonly [readonly string[], string][] = [
    [['generate', '--model', model, '--prompt', 'a', '--trace', model, '--force'], isRead],
    [
      ['run', '--plain', '--worker', 'tcp://a:1', '--model', model, '--prompt', 'a', '--trace', model, '--force'],
      isRead,
    ],
    [['split', '--model', model, '--plan', plan, '--out', folder, '--force'], isRead],
    [['run', '--plain', '--worker', 'tcp://a:1', '--model', model, '--prompt', 'a', ...twice], 'is also the file of'],
    [['make-model', '--shape', 'tiny', '--out', model], 'exists; give another path, or --force'],
    [['make-model', '--shape', 'tiny', '--out', plan, '--force'], 'exists and is not a GGUF file'],
    [['profile', '--out', model, '--force'], 'exists and is not a cluster file'],
  ];
  for (const [options, reason] of cases) {
    const ended = await hearthHere(...options);
    assert.is(ended.code, 2, options.join(' '));
    assert.ok(ended.stderr.includes(reason), ended.stderr);
  }
  assert.ok(readFileSync(model).equals(before));
  assert.is(readdirSync(own).length, 0);
});

/** The head is named as the model, so that its part would be the model's file. */
const PLAN = {
  rounds: 1,
  stages: [{ device: 'tiny', processor: 'cpu', from: 0, to: 2 }],
  embedding: { device: 'tiny', processor: 'cpu' },
  output: { device: 'tiny', processor: 'cpu' },
  kvCache: 'with-layers',
};

test.run();
