import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../support/needs.ts';

const ROOT = process.cwd();
const names = ['a', 'b'].map((end) => `hearth-ring-${process.pid}-${end}`) as [string, string];
const [headSpace, workerSpace] = names;
const folders = names.map(() => mkdtempSync(join(tmpdir(), 'hearth-first-ring-')));
let worker: ChildProcess | undefined;

const ip = (line: string) => execFileSync('ip', line.split(' '), { stdio: 'pipe' });
const isAllowed = process.platform === 'linux' && spawnSync('ip', ['netns', 'add', headSpace]).status === 0;

test.after(() => {
  worker?.kill();
  for (const name of names) spawnSync('ip', ['netns', 'del', name]);
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Command line of a `hearth` command, as the tutorial has it. */
function commandLine(verb: string): string {
  const tutorial = readFileSync('docs/tutorials/first-ring.md', 'utf8');
  const [, line] = new RegExp(`^(npx --no hearth ${verb} .*)$`, 'm').exec(tutorial) ?? [];
  assert.ok(line, `no command line of hearth ${verb}`);
  return line.replace('npx --no hearth', `${process.execPath} ${join(ROOT, 'bin/hearth.js')}`);
}

/** Starts a command line of a machine: a network namespace and a folder. */
const start = (space: string, folder: string, line: string): ChildProcess =>
  spawn('ip', ['netns', 'exec', space, 'sh', '-c', `exec ${line}`], { cwd: folder });

testIf(isAllowed, 'no network namespaces: ip netns needs root', 'the tutorial’s lines run a ring of two', async () => {
  ip(`netns add ${workerSpace}`);
  ip(`link add ring netns ${headSpace} type veth peer name ring netns ${workerSpace}`);
  for (const [index, name] of names.entries()) {
    ip(`-n ${name} address add 192.168.0.${index + 1}/24 dev ring`);
    ip(`-n ${name} link set ring up`);
    ip(`-n ${name} link set lo up`);
  }
  for (const folder of folders) symlinkSync(join(ROOT, 'datasets'), join(folder, 'datasets'));
  const [headFolder, workerFolder] = folders as [string, string];
  const [key1, key2] = folders.map((cwd) =>
    execFileSync('sh', ['-c', commandLine('keygen')], { cwd, encoding: 'utf8' }).trim(),
  ) as [string, string];
  worker = start(workerSpace, workerFolder, commandLine('worker').replace('KEY_1', key1));
  let said = '';
  worker.stderr?.on('data', (text) => {
    said += text;
  });
  for (let waits = 0; waits < 600 && !said.includes('listens at tcp://0.0.0.0:7400'); waits++)
    await new Promise((resolve) => setTimeout(resolve, 100));
  assert.match(said, /listens at tcp:\/\/0\.0\.0\.0:7400/);
  const line = `${commandLine('run').replace('KEY_2', key2)} --scheduler memory-ratio`;
  const head = start(headSpace, headFolder, line);
  let [text, log] = ['', ''];
  head.stdout?.on('data', (part) => {
    text += part;
  });
  head.stderr?.on('data', (part) => {
    log += part;
  });
  const code = await new Promise((resolve) => head.on('close', resolve));
  assert.is(code, 0, log);
  assert.match(text, /^ had 8 plums/);
  assert.not.match(log, /gets no layer/);
});

test.run();
