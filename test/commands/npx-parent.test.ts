import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/** A process that waits for the end of npx, started by a shell that is killed; whether it ends within `seconds`. */
async function endsWith(parent: Readonly<Record<string, string>>, seconds: number): Promise<boolean> {
  const waits = `import('./commands/npx-parent.ts').then(async ({ npxEnded }) => {
    setTimeout(() => process.exit(), 20_000);
    const ended = npxEnded();
    console.log(process.pid); // only now, since the shell is killed at once
    await ended;
    process.exit();
  });`;
  const shell = spawn('sh', ['-c', '"$0" --import tsx -e "$1"; true', process.execPath, waits], {
    env: { ...process.env, npm_command: '', ...parent },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = await once(shell.stdout, 'data');
  // The pipe has an end when the last process that writes to it has ended.
  const ended = once(shell.stdout.resume(), 'end').then(() => true);
  shell.kill('SIGKILL');
  const isOver = await Promise.race([ended, sleep(1000 * seconds, false, { ref: false })]);
  if (!isOver) process.kill(Number(String(printed)), 'SIGKILL');
  await ended;
  return isOver;
}

test('what npx has started ends with it', async () => {
  assert.is(await endsWith({ npm_command: 'exec' }, 15), true);
});

test('what a shell has started goes on without it', async () => {
  assert.is(await endsWith({}, 3), false);
});

test.run();
