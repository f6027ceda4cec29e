import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withLockedFolder } from '../../engine/files/folder-lock.ts';
import { isRunning, ownMark } from '../../engine/files/process-mark.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-lock-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
let folders = 0;

/** An empty folder, or one with this lock. */
function folder(lock?: string): string {
  const path = join(directory, `${++folders}`);
  mkdirSync(path);
  if (lock !== undefined) writeFileSync(join(path, 'hearth.lock'), lock);
  return path;
}

const locked = (path: string): Promise<readonly string[]> =>
  withLockedFolder('--out', path, () => Promise.resolve(readdirSync(path)));

async function refusal(path: string): Promise<string> {
  try {
    await locked(path);
  } catch (error) {
    return (error as Error).message.replaceAll(path, 'FOLDER');
  }
  return 'was not refused';
}

/** The id of a process that has ended. */
const ended = (): number => spawnSync(process.execPath, ['--version']).pid;

test('a folder is locked while it is written, and not after, however that ends', async () => {
  const path = folder();
  assert.equal(await locked(path), ['hearth.lock']);
  assert.equal(readdirSync(path), []);
  await withLockedFolder('--out', path, () => Promise.reject(new Error('no'))).catch(() => {});
  assert.equal(readdirSync(path), []);
});

test('a locked folder is refused, and stays locked', async () => {
  const path = folder();
  await withLockedFolder('--out', path, async () => {
    assert.is(
      await refusal(path),
      `--out FOLDER: is being written by process ${process.pid} on ${hostname()}; wait for it, give another folder, or remove FOLDER/hearth.lock if no such process is left`,
    );
    assert.ok(existsSync(join(path, 'hearth.lock')));
  });
});

test('the lock of a process that has ended is taken over, and of one whose id was given again', async () => {
  const own = ownMark();
  for (const mark of [
    { ...own, pid: ended() },
    { ...own, start: '1' },
  ]) {
    const path = folder(JSON.stringify(mark));
    assert.equal(await locked(path), ['hearth.lock']);
    assert.equal(readdirSync(path), []);
  }
});

test('a process that was killed while it took a lock over is no obstacle', async () => {
  const mark = JSON.stringify({ ...ownMark(), pid: ended() });
  const path = folder(mark);
  writeFileSync(join(path, 'hearth.lock.taken'), mark);
  await locked(path);
  assert.equal(readdirSync(path), []);
});

test('the lock of another machine, or one that is only just written, is left alone', async () => {
  assert.match(await refusal(folder('{"host":"other","pid":1}')), /is being written by process 1 on other;/);
  assert.match(await refusal(folder('')), /is being written by another process;/);
  assert.match(await refusal(folder('{"host":"a","pid":-1}')), /is being written by another process;/);
});

test('of many processes that find the lock of an ended one, one at a time has the folder', async () => {
  const path = folder(JSON.stringify({ ...ownMark(), pid: ended() }));
  const script = `
    import { rmSync, writeFileSync } from 'node:fs';
    import { withLockedFolder } from './engine/files/folder-lock.ts';
    try {
      await withLockedFolder('--out', process.argv[1], async () => {
        writeFileSync(process.argv[1] + '/inside', '', { flag: 'wx' });
        await new Promise((resolve) => setTimeout(resolve, 20));
        rmSync(process.argv[1] + '/inside');
      });
      console.log('had it');
    } catch (error) {
      console.log(error.name);
    }`;
  const run = (): Promise<string> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, path]);
      let text = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
      });
      child.on('close', () => resolve(text.trim()));
    });
  const outcomes = await Promise.all(Array.from({ length: 4 }, run));
  assert.ok(outcomes.includes('had it'), `${outcomes}`);
  assert.ok(
    outcomes.every((one) => one === 'had it' || one === 'InputError'),
    `${outcomes}`,
  );
  assert.equal(readdirSync(path), []);
});

test('a process is told by its start time as well; a zombie has ended', async () => {
  assert.ok(isRunning(ownMark()));
  assert.not(isRunning({ ...ownMark(), start: '1' }));
  if (process.platform !== 'linux') return;
  const shell = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 20'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const pid = Number(await new Promise<Buffer>((resolve) => shell.stdout?.once('data', resolve)));
  const limit = Date.now() + 10_000;
  while (isRunning({ host: hostname(), pid }) && Date.now() < limit) await new Promise((r) => setTimeout(r, 20));
  assert.not(isRunning({ host: hostname(), pid }));
  shell.kill('SIGKILL');
});

test.run();
