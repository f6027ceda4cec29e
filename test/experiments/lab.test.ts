import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findDeadLabs, removeDeadLabs } from '../../experiments/lab/dead-labs.ts';
import { findLabGround } from '../../experiments/lab/ground.ts';
import { listNamespaces } from '../../experiments/lab/network.ts';
import { REAL_FILES, runProgram } from '../../experiments/lab/system.ts';
import { testIf } from '../support/needs.ts';
import { runHere, runScript } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-lab-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const ground = findLabGround(REAL_FILES, runProgram, directory, 3e9);
const missing = 'missing' in ground ? ground.missing.join('; ') : '';

/** Remains of labs of a process: groups, namespaces, parts of models. */
function leftovers(pid: number): string[] {
  if ('missing' in ground) return [];
  const groups = Object.values(ground.controllers).flatMap(({ root }) => REAL_FILES.list(root));
  const names = [...groups, ...listNamespaces(runProgram), ...readdirSync(directory)];
  return names.filter((name) => name.startsWith(`hearth-lab-${pid}-`));
}

/** Starts a lab and waits until its devices run. */
async function startedLab(out: string): Promise<{ pid: number; ended: Promise<number | null> }> {
  const script = ['--import', 'tsx', 'experiments/lab.ts', '--models', directory, '--out', join(directory, out)];
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  let printed = '';
  child.stderr.on('data', (chunk) => {
    printed += chunk;
  });
  const pid = child.pid as number;
  const deadline = performance.now() + 300_000;
  const runs = (): boolean => printed.includes('a run with everything in memory') && leftovers(pid).length >= 8;
  while (!runs() && child.exitCode === null && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(runs(), printed);
  return { pid, ended };
}

interface ServedFigures {
  readonly requests: number;
  readonly tokensPerSecond: number;
}

interface ServedLoad {
  readonly name: string;
  readonly predicted: { readonly tokensPerSecond: number };
  readonly simulated: { readonly figures: ServedFigures };
  readonly measured: ServedFigures;
}

interface Measured {
  readonly seconds: number;
  readonly bytes: number;
}

/** Runs four devices without and with pinned weights, and checks their limits and what they read. */
async function comparedCells(out: string): Promise<{ readonly none: number; readonly pinned: number }> {
  // Disks twice as fast as those of four-small halve the time that the test waits for them.
  const cluster = join(directory, 'four-fast.json');
  const text = readFileSync('datasets/clusters/four-small.json', 'utf8');
  assert.match(text, '"value": "50 MB/s"');
  writeFileSync(cluster, text.replaceAll('"value": "50 MB/s"', '"value": "100 MB/s"'));
  const options = ['--cluster', cluster, '--models', directory, '--tokens', '5', '--out', out, '--json'];
  const ended = await runScript('experiments/lab.ts', ...options);
  assert.is(ended.code, 0, ended.stderr);
  const { settings, cells } = JSON.parse(readFileSync(join(out, 'lab.json'), 'utf8'));
  assert.ok(settings.checks.memoryPeak > 0.9 && settings.checks.memoryPeak <= 1, `${settings.checks.memoryPeak}`);
  assert.ok(Math.abs(settings.checks.diskRatio - 1) < 0.05, `${settings.checks.diskRatio}`);
  const [none, pinned] = (cells as { measured: Measured }[]).map(({ measured }) => measured) as [Measured, Measured];
  // A cyclic scan of weights that don't fit reads everything again; with a pinned prefix at least a quarter less is read.
  assert.ok(pinned.bytes < 0.75 * none.bytes, `${pinned.bytes} of ${none.bytes}`);
  assert.is(JSON.parse(ended.stdout).cells.length, 2);
  assert.is(JSON.parse(readFileSync(join(out, 'trace-pinned.json'), 'utf8')).displayTimeUnit, 'ms');
  return { none: none.seconds, pinned: pinned.seconds };
}

testIf(missing === '', missing, 'four devices are held to their limits, and pinning beats page faults', async () => {
  let { none, pinned } = await comparedCells(join(directory, 'out'));
  if (none <= 2 * pinned) {
    // Four devices share the processors; another load delays those most that hardly wait for their disks.
    console.log(`page faults ${none} s, pinned ${pinned} s for a token: less than twice; measured once more`);
    ({ none, pinned } = await comparedCells(join(directory, 'again')));
  }
  assert.ok(none > 2 * pinned, `${none}, ${pinned}`);
});

testIf(missing === '', missing, 'requests to a ring of four devices have three answers', async () => {
  const requests = join(directory, 'requests.csv');
  writeFileSync(requests, 'arrival,prompt,output\n0,70,3\n0,200,2\n1,20,3\n');
  const options = ['--on', 'ring-in-memory', '--cache', directory, '--requests', requests, '--json'];
  const { code, stdout, stderr } = await runScript(
    'experiments/serving.ts',
    ...options,
    '--out',
    join(directory, 'served'),
  );
  assert.is(code, 0, stderr);
  const [load, ...others] = (JSON.parse(stdout) as { loads: ServedLoad[] }).loads;
  assert.equal([load?.name, others], ['the file’s requests', []]);
  for (const figures of [load?.simulated.figures, load?.measured]) {
    assert.is(figures?.requests, 3);
    assert.ok((figures?.tokensPerSecond ?? 0) > 0);
  }
  assert.ok((load?.predicted.tokensPerSecond ?? 0) > 0);
});

testIf(
  missing === '',
  missing,
  'Ctrl-C leaves nothing behind; what a killed lab leaves, the next one removes',
  async () => {
    if ('missing' in ground) return;
    const [interrupted, killed] = await Promise.all([startedLab('interrupted'), startedLab('killed')]);
    process.kill(interrupted.pid, 'SIGINT');
    process.kill(killed.pid, 'SIGKILL');
    assert.is(await interrupted.ended, 130);
    assert.equal(leftovers(interrupted.pid), []);
    await killed.ended;
    assert.ok(leftovers(killed.pid).length >= 8);
    const removed = removeDeadLabs(ground, directory);
    assert.ok(removed.some((name) => name.startsWith(`hearth-lab-${killed.pid}-`)));
    assert.equal(leftovers(killed.pid), []);
    assert.equal(findDeadLabs(REAL_FILES, ground.controllers, listNamespaces(runProgram)), []);
  },
);

for (const [options, expected] of [
  [['--size', 'huge'], /^--size: unknown "huge"/],
  [['--policies', 'pined'], /^--policies: unknown "pined"; did you mean "pinned"\?/],
  [['--tokens', '3'], /^--tokens: "3" is not a whole number between 4 and 1000\n$/],
] as const) {
  test(`${options.join(' ')} ends in one line and exit code 2`, async () => {
    const { code, stderr, stdout } = await runHere('experiments/lab.ts', ...options, '--out', join(directory, 'none'));
    assert.is(code, 2);
    assert.match(stderr, expected);
    assert.is(stdout, '');
  });
}

test.run();
