import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../../support/needs.ts';
import { HAS_REDIS, startRedis } from '../../support/redis-server.ts';
import { runHere, runScript } from '../../support/run-script.ts';

const SWEEP = ['experiments/upgrades.ts', '--homes', '2000'] as const;
/** Bytes of the points after which the first sweep is killed, of 300 KB. */
const BEGUN = 60_000;

const directory = mkdtempSync(join(tmpdir(), 'hearth-sweep-resume-'));
const folder = (name: string): string => join(directory, name);
const children: ChildProcess[] = [];
test.after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

function pointsOf(name: string): { readonly file: string; readonly bytes: number } | undefined {
  try {
    const [file] = readdirSync(folder(name)).filter((one) => one.startsWith('points-'));
    return file === undefined ? undefined : { file, bytes: statSync(join(folder(name), file)).size };
  } catch {
    return undefined;
  }
}

test('a sweep is killed halfway on threads; while it runs, no other one writes to its folder', async () => {
  const command = ['--import', 'tsx', ...SWEEP, '--workers', '1', '--out', folder('first')];
  const child = spawn(process.execPath, command, { stdio: 'ignore' });
  children.push(child);
  const ended = new Promise((resolve) => child.once('close', resolve));
  while ((pointsOf('first')?.bytes ?? 0) < BEGUN && child.exitCode === null) await pause(5);
  child.kill('SIGSTOP');
  const second = await runHere(...SWEEP, '--workers', '1', '--out', folder('first'));
  assert.is(second.code, 2);
  assert.match(second.stderr, /^--out \S+first: is being written by process \d+ on \S+; wait for it, [^\n]+\n$/);
  child.kill('SIGKILL');
  await ended;
  assert.is(child.signalCode, 'SIGKILL');
  cpSync(folder('first'), folder('carried'), { recursive: true });
});

testIf(
  HAS_REDIS,
  'redis-server is not installed',
  'carried elsewhere, it goes on at a Redis, and all files are those of an undisturbed sweep',
  async () => {
    mkdirSync(folder('redis'));
    const redis = await startRedis(folder('redis'));
    const worker = ['bin/hearth.js', 'sweep-worker', '--on', redis.url, '--threads', '1'];
    children.push(spawn(process.execPath, worker, { stdio: 'ignore' }));
    try {
      const options = ['--resume', folder('carried'), '--out', folder('second')] as const;
      const second = await runScript(...SWEEP, '--on', redis.url, ...options);
      assert.is(second.code, 0, second.stderr);
      const computed = Number(/([\d,]+) points in/.exec(second.stderr)?.[1]?.replaceAll(',', ''));
      assert.ok(computed > 0 && computed < 18_000, second.stderr);
    } finally {
      await redis.stop();
    }
    const undisturbed = await runScript(...SWEEP, '--out', folder('undisturbed'));
    assert.is(undisturbed.code, 0, undisturbed.stderr);
    const names = readdirSync(folder('undisturbed')).filter((name) => name !== 'sweep-status.json');
    assert.is(names.length, 4);
    for (const name of names)
      assert.is(
        readFileSync(join(folder('second'), name), 'utf8'),
        readFileSync(join(folder('undisturbed'), name), 'utf8'),
        name,
      );
    const left = statSync(join(folder('carried'), pointsOf('carried')?.file ?? ''));
    assert.ok(left.size < statSync(join(folder('undisturbed'), pointsOf('undisturbed')?.file ?? '')).size);
  },
);

test('a folder that a killed sweep locked is taken over, and points that are there twice are refused', async () => {
  const small = ['experiments/upgrades.ts', '--homes', '20', '--workers', '1', '--out', folder('small')] as const;
  mkdirSync(folder('small'));
  cpSync(join(folder('first'), 'hearth.lock'), join(folder('small'), 'hearth.lock'));
  const { code, stderr } = await runHere(...small);
  assert.is(code, 0, stderr);
  const points = join(folder('small'), pointsOf('small')?.file ?? '');
  const whole = readFileSync(points, 'utf8');
  const lines = whole.split(/(?<=\n)/);
  assert.is(lines.length, 200);
  assert.match(lines[7] ?? '', /^\[7,(\d+\.\d+|null)\]\n$/);
  const remedy = 'remove the file to compute all points again, or give another --out';
  for (const [text, problem] of [
    [lines.flatMap((line) => [line, line]).join(''), `:2: has point 0 where point 1 is next; ${remedy}`],
    [whole + whole, `:201: is beyond the last of 200 points; ${remedy}`],
    [lines.slice(0, 9).join('') + lines.slice(10).join(''), `:10: has point 10 where point 9 is next; ${remedy}`],
    [whole.replace(/^\[0,[^\n]+/, '[0,"=1+1"]'), `:1: the result of point 0 is none of upgrades`],
    [whole.replace(/^\[0,[^\n]+/, '0.5'), `:1: is not [POINT,RESULT]; ${remedy}`],
  ] as const) {
    writeFileSync(points, text);
    const again = await runHere(...small);
    assert.is(again.code, 2);
    assert.ok(again.stderr.startsWith(`${points}${problem}`), again.stderr);
    assert.is(readFileSync(points, 'utf8'), text);
  }
});

test('points of other inputs are not taken', async () => {
  const other = ['--homes', '1999', '--resume', folder('carried'), '--out', folder('none')] as const;
  const { code, stderr } = await runHere('experiments/upgrades.ts', ...other);
  assert.is(code, 2);
  assert.match(
    stderr,
    /^--resume: \S+carried has no points-[0-9a-f]{12}\.jsonl, the points of this sweep; points-[0-9a-f]{12}\.jsonl is of other inputs, or of another version of code or data; leave it out to start over\n$/,
  );
});

test.run();
