import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { undelayedSeconds } from '../../../engine/text/speculation/undelayed-seconds.ts';
import { testIf } from '../../support/needs.ts';

const sleep = (seconds: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000 * seconds);
};

test('time asleep counts, as that of a wait for a disk does', () => {
  const start = undelayedSeconds();
  sleep(0.05);
  assert.ok(undelayedSeconds() - start >= 0.045);
});

testIf(
  existsSync('/proc/thread-self/schedstat'),
  'the system does not count waits for processors',
  'time without a processor that other programs have does not count',
  () => {
    // Two more programs than processors.
    const others = Array.from({ length: availableParallelism() + 2 }, () =>
      spawn(process.execPath, ['-e', 'for (const end = Date.now() + 20_000; Date.now() < end; );']),
    );
    try {
      let [own, wall] = [0, 0];
      // They take some time to start.
      for (const begun = performance.now(); own > 0.8 * wall - 0.05 && performance.now() - begun < 15_000; ) {
        const [start, wallStart] = [undelayedSeconds(), performance.now()];
        while (performance.now() - wallStart < 100);
        own += undelayedSeconds() - start;
        wall += (performance.now() - wallStart) / 1000;
      }
      assert.ok(own < 0.8 * wall, `${own} of ${wall} s`);
    } finally {
      for (const other of others) other.kill('SIGKILL');
    }
  },
);

test.run();
