import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Summary } from '../../experiments/partition-sweep/summary.ts';
import { testReport } from '../support/open-report.ts';
import { runHere, runScript } from '../support/run-script.ts';

const SCRIPT = 'experiments/partition-sweep.ts';
const directory = mkdtempSync(join(tmpdir(), 'hearth-partition-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

/**
 * Two devices that hold half an 8B each, and one without memory for the buffers, so that plans that use it are
 * infeasible.
 */
const device = (name: string, available: string) => ({
  name,
  os: 'linux',
  memory: { total: '4 GiB', available },
  cpu: { cores: 4, compute: '400 GFLOPS', bandwidth: '30 GB/s' },
  disk: { sequential: '2 GB/s' },
});
const cluster = join(directory, 'cluster.json');
writeFileSync(
  cluster,
  JSON.stringify({
    name: 'toy',
    devices: [device('a', '2.5 GiB'), device('c', '0.2 GiB'), device('b', '2 GiB')],
    links: { default: { latency: '1 ms', bandwidth: '1 Gbps' } },
  }),
);

const common = ['--cluster', cluster, '--model', 'Llama-3-8B', '--most-rounds', '2', '--policies', 'none,drop'];
const commandOf = (out: string, ...options: string[]) =>
  [SCRIPT, ...common, '--step', '8', '--out', join(directory, out), ...options] as const;
const sweep = (out: string, ...options: string[]) => runScript(...commandOf(out, ...options));
const textOf = (out: string, name: string): string => readFileSync(join(directory, out, name), 'utf8');
const RESULTS = ['points.jsonl', 'points.csv', 'summary.json', 'report.html'];

test('32 layers in steps of 8 among three devices have 15 splits in one round and 12 in two, each under two policies', async () => {
  const { code, stdout, stderr } = await sweep('one', '--workers', '1', '--json');
  assert.is(code, 0, stderr);
  assert.match(stderr, '54 plans (30 with k = 1, 24 with k = 2)\n');
  const summary = JSON.parse(stdout) as Summary;
  assert.is(summary.space, 54);
  assert.is(summary.simulated, 54);
  // Without c: five splits in one round, three in two.
  assert.is(summary.runnable, 16);
  assert.is(summary.failures['out of memory']?.count, 38);
});

test('infeasible plans are recorded with the reason, the others with both times', () => {
  const lines = textOf('one', 'points.csv').split('\n');
  assert.is(
    lines[0],
    'plan,rounds,output,policy,a_window,a_gpu_layers,c_window,c_gpu_layers,b_window,b_gpu_layers,tpot_s,predicted_s,failed',
  );
  assert.is(lines.length, 56);
  assert.match(lines[1] as string, /^0,1,cpu,none,0,0,0,0,32,0,\d+\.\d+,\d+\.\d+,$/);
  assert.match(
    lines[3] as string,
    /^2,1,cpu,none,0,0,8,0,24,0,,,"out of memory: c: KV cache and buffers need 0\.\d\d GiB,/,
  );
  assert.match(lines[30] as string, /^29,1,cpu,drop,32,0,0,0,0,0,\d+\.\d+,\d+\.\d+,$/);
});

test('the output is the same for any number of workers', async () => {
  const { code } = await sweep('two', '--workers', '2');
  assert.is(code, 0);
  for (const name of RESULTS) assert.is(textOf('two', name), textOf('one', name), name);
});

test('a sweep that was interrupted within a line resumes to the same result', async () => {
  const whole = textOf('one', 'points.jsonl');
  mkdirSync(join(directory, 'cut'));
  writeFileSync(join(directory, 'cut', 'points.jsonl'), whole.slice(0, Math.floor(0.6 * whole.length)));
  const { code, stderr } = await sweep('cut', '--workers', '2');
  assert.is(code, 0);
  assert.match(stderr, /; \d\d are there already\n/);
  for (const name of RESULTS) assert.is(textOf('cut', name), textOf('one', name), name);
});

test('--resume takes the points of another folder, and leaves them there', async () => {
  const whole = textOf('one', 'points.jsonl');
  mkdirSync(join(directory, 'carried'));
  const begun = whole.slice(0, Math.floor(0.6 * whole.length));
  writeFileSync(join(directory, 'carried', 'points.jsonl'), begun);
  const { code, stderr } = await sweep('taken', '--workers', '1', '--resume', join(directory, 'carried'));
  assert.is(code, 0);
  assert.match(stderr, /; \d\d are there already\n/);
  for (const name of RESULTS) assert.is(textOf('taken', name), textOf('one', name), name);
  assert.is(textOf('carried', 'points.jsonl'), begun);
});

test('--resume and --restart exclude each other', async () => {
  const { code, stderr } = await runHere(...commandOf('one', '--restart', '--resume', join(directory, 'carried')));
  assert.is(code, 2);
  assert.is(stderr, '--resume: goes on with points that --restart discards; leave one of them out\n');
});

test('other settings are refused in one line that names them', async () => {
  const { code, stdout, stderr } = await runHere(...commandOf('one', '--policies', 'none', '--seed', '2'));
  assert.is(code, 2);
  assert.is(stdout, '');
  assert.match(
    stderr,
    /^\S+points\.jsonl: is a sweep with other settings: policies was none,drop, is none, seed was 1, is 2; pass --restart to sweep from the beginning, or another --out\n$/,
  );
});

test('points of a different version of the program are refused', async () => {
  mkdirSync(join(directory, 'changed'));
  const lines = textOf('one', 'points.jsonl').split('\n').slice(0, 31);
  const last = JSON.parse(lines.at(-1) as string) as { seconds: number };
  const changed = [...lines.slice(0, -1), JSON.stringify({ ...last, seconds: last.seconds * 2 })];
  writeFileSync(join(directory, 'changed', 'points.jsonl'), `${changed.join('\n')}\n`);
  const { code, stderr } = await runHere(...commandOf('changed'));
  assert.is(code, 2);
  assert.match(stderr, /plan 29 is there with .* the program has changed; pass --restart/);
});

test('--restart accepts other settings, and a larger space is sampled with a note', async () => {
  const { code, stderr, stdout } = await sweep('changed', '--restart', '--most-plans', '20', '--schedulers', 'optimal');
  assert.is(code, 0);
  assert.match(stderr, '; 20 of them, drawn at random, are simulated\n');
  assert.match(stdout, '20 plans drawn at random (seed 1) out of 54');
  assert.is(textOf('changed', 'points.jsonl').split('\n').length, 22);
});

test('Ctrl-C ends with the results so far and says how to continue', async () => {
  const out = join(directory, 'stopped');
  const options = [...common, '--step', '1', '--out', out, '--workers', '1'];
  const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const size = (): number => statSync(join(out, 'points.jsonl'), { throwIfNoEntry: false })?.size ?? 0;
  while (size() < 1000 && child.exitCode === null) await pause(5);
  child.kill('SIGINT');
  assert.is(await ended, 130, stderr);
  const [, done, all] = /stopped at (\d+) of (\d+) plans; the same command goes on from there\n$/.exec(stderr) ?? [];
  // C(34, 2) in one round; of C(34, 2) in two rounds all but three, which leave two devices out; two policies.
  assert.is(Number(all), 2 * (561 + 150));
  assert.ok(Number(done) < Number(all), stderr);
  assert.is(textOf('stopped', 'points.jsonl').split('\n').length, Number(done) + 2);
  assert.match(textOf('stopped', 'report.html'), 'the sweep was stopped');
});

testReport(() => join(directory, 'one', 'report.html'), 3);

for (const [options, expected] of [
  [['--model', 'Llama-3-71B'], /^--model: no model is called "Llama-3-71B"; did you mean "Llama-3-70B"\?\n$/],
  [['--policies', 'none,pined'], /^--policies: unknown "pined"; did you mean "pinned"\?\n$/],
  [['--gpu-levels', '0'], /^--gpu-levels: "0" is not a whole number between 1 and 1000\n$/],
  [['--step', 'x'], /^--step: "x" is not a whole number between 1 and 1000\n$/],
] as const) {
  test(`${options.join(' ')} is reported in one line with exit code 2`, async () => {
    const { code, stderr, stdout } = await runHere(SCRIPT, ...options, '--out', join(directory, 'none'));
    assert.is(code, 2);
    assert.match(stderr, expected);
    assert.is(stdout, '');
  });
}

test.run();
