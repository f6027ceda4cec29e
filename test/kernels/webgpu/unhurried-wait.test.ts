import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { unhurriedWait } from '../../../engine/kernels/webgpu/unhurried-wait.ts';

/** Turns the event loop as Dawn does while it waits for a device. @returns turns until `pending` is settled */
async function turnsUntil(pending: Promise<unknown>, work: () => void = () => {}): Promise<number> {
  let turns = 0;
  let waiting = true;
  const turn = (): void => {
    turns++;
    work();
    if (waiting) setImmediate(turn);
  };
  setImmediate(turn);
  await pending;
  waiting = false;
  return turns;
}

test('it has what is waited for, or the reason why not', async () => {
  assert.is(await unhurriedWait(Promise.resolve(7)), 7);
  assert.is(await unhurriedWait(setTimeout(5, 'late')), 'late');
  try {
    await unhurriedWait(Promise.reject(new Error('lost')));
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, 'lost');
  }
});

test('a thread that waits for a device that is asked in every turn of the event loop uses little of a processor', async () => {
  const used: number[] = [];
  // Compilers and programs that share a core take time too, so the best of several counts.
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage();
    const turns = await turnsUntil(unhurriedWait(setTimeout(200)));
    const { user, system } = process.cpuUsage(before);
    assert.ok(turns > 10, `${turns} turns`);
    used.push(user + system);
  }
  assert.ok(Math.min(...used) < 100_000, `${used.join(', ')} µs of 200 ms each`);
});

test('other work of the thread is not delayed', async () => {
  const work = (): void => {
    for (const begun = performance.now(); performance.now() - begun < 0.4; );
  };
  const worked = async (wait: (pending: Promise<unknown>) => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage();
    await turnsUntil(wait(setTimeout(100)), work);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await worked(unhurriedWait);
  // By turns, so that other programs disturb both alike.
  let [hurried, unhurried] = [0, 0];
  for (let round = 0; round < 5; round++) {
    hurried += await worked((pending) => pending);
    unhurried += await worked(unhurriedWait);
  }
  assert.ok(unhurried > 0.8 * hurried, `${unhurried} µs of work, and ${hurried} hurried`);
});

test.run();
