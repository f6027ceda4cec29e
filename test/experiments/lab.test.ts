import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findDeadLabs, removeDeadLabs } from '../../experiments/lab/dead-labs.ts';
import { findLabGround } from '../../experiments/lab/ground.ts';
import { listNamespaces } from '../../experiments/lab/network.ts';
import { REAL_FILES, runProgram } from '../../experiments/lab/system.ts';
import { testIf } from '../support/needs.ts';
import { runScript } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-lab-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const ground = findLabGround(REAL_FILES, runProgram, directory, 3e9);
const missing = 'missing' in ground ? ground.missing.join('; ') : '';

/** What is left of labs with this process: groups, namespaces, parts of models. */
function leftovers(pid: number): string[] {
  if ('missing' in ground) return [];
  const groups = Object.values(ground.controllers).flatMap(({ root }) => REAL_FILES.list(root));
  const names = [...groups, ...listNamespaces(runProgram), ...readdirSync(directory)];
  return names.filter((name) => name.startsWith(`hearth-lab-${pid}-`));
}

/** Starts a lab, and waits until devices run in it. */
async function startedLab(): Promise<{ pid: number; ended: Promise<number | null> }> {
  const script = ['--import', 'tsx', 'experiments/lab.ts', '--models', directory, '--out', join(directory, 'ended')];
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const pid = child.pid as number;
  const deadline = performance.now() + 300_000;
  const runs = (): boolean => said.includes('a run with everything in memory') && leftovers(pid).length >= 8;
  while (!runs() && child.exitCode === null && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(runs(), said);
  return { pid, ended };
}

testIf(missing === '', missing, 'four devices are held to their limits, and pinning beats page faults', async () => {
  const out = join(directory, 'out');
  const ended = await runScript('experiments/lab.ts', '--models', directory, '--tokens', '5', '--out', out, '--json');
  assert.is(ended.code, 0, ended.stderr);
  const { settings, cells } = JSON.parse(readFileSync(join(out, 'lab.json'), 'utf8'));
  assert.ok(settings.checks.memoryPeak > 0.9 && settings.checks.memoryPeak <= 1, `${settings.checks.memoryPeak}`);
  assert.ok(Math.abs(settings.checks.diskRatio - 1) < 0.05, `${settings.checks.diskRatio}`);
  const [none, pinned] = cells;
  // A cyclic scan of what doesn't fit reads everything again; a pinned prefix of it at least a quarter less.
  assert.ok(pinned.measured.bytes < 0.75 * none.measured.bytes, `${pinned.measured.bytes} of ${none.measured.bytes}`);
  assert.ok(
    none.measured.seconds > 2 * pinned.measured.seconds,
    `${none.measured.seconds}, ${pinned.measured.seconds}`,
  );
  assert.is(JSON.parse(ended.stdout).cells.length, 2);
  assert.is(JSON.parse(readFileSync(join(out, 'trace-pinned.json'), 'utf8')).displayTimeUnit, 'ms');
});

testIf(missing === '', missing, 'Ctrl-C leaves nothing behind', async () => {
  const { pid, ended } = await startedLab();
  process.kill(pid, 'SIGINT');
  assert.is(await ended, 130);
  assert.equal(leftovers(pid), []);
});

testIf(missing === '', missing, 'what a killed lab leaves, the next one removes', async () => {
  if ('missing' in ground) return;
  const { pid, ended } = await startedLab();
  process.kill(pid, 'SIGKILL');
  await ended;
  assert.ok(leftovers(pid).length >= 8);
  const removed = removeDeadLabs(ground, directory);
  assert.ok(removed.some((name) => name.startsWith(`hearth-lab-${pid}-`)));
  assert.equal(leftovers(pid), []);
  assert.equal(findDeadLabs(REAL_FILES, ground.controllers, listNamespaces(runProgram)), []);
});

for (const [options, expected] of [
  [['--size', 'huge'], /^--size: unknown "huge"/],
  [['--policies', 'pined'], /^--policies: unknown "pined"; did you mean "pinned"\?/],
  [['--tokens', '3'], /^--tokens: "3" is not a whole number between 4 and 1000\n$/],
] as const) {
  test(`${options.join(' ')} ends in one line and exit code 2`, async () => {
    const { code, stderr, stdout } = await runScript(
      'experiments/lab.ts',
      ...options,
      '--out',
      join(directory, 'none'),
    );
    assert.is(code, 2);
    assert.match(stderr, expected);
    assert.is(stdout, '');
  });
}

test.run();
