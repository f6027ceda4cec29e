import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/** A process that waits for the end of npx, started by a shell that is killed; whether it ends within `seconds`. */
async function endsWith(parent: Readonly<Record<string, string>>, seconds: number): Promise<boolean> {
  const waits = `import('./engine/commands/npx-parent.ts').then(async ({ npxEnded }) => {
    console.log(process.pid);
    setTimeout(() => process.exit(), 20_000);
    await npxEnded();
    process.exit();
  });`;
  const shell = spawn('sh', ['-c', '"$0" --import tsx -e "$1"; true', process.execPath, waits], {
    env: { ...process.env, npm_command: '', ...parent },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = await once(shell.stdout, 'data');
  const child = Number(String(printed));
  shell.kill('SIGKILL');
  await once(shell, 'exit');
  try {
    for (let looks = 0; looks < 10 * seconds; looks++) {
      if (!isAlive(child)) return true;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return false;
  } finally {
    if (isAlive(child)) process.kill(child, 'SIGKILL');
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('what npx has started ends with it', async () => {
  assert.is(await endsWith({ npm_command: 'exec' }, 15), true);
});

test('what a shell has started goes on without it', async () => {
  assert.is(await endsWith({}, 3), false);
});

test.run();
