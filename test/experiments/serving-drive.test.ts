import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { ProcessorClock } from '../../engine/profile/processor-clock.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import { driveEngine } from '../../experiments/serving/drive.ts';
import { madeFile } from '../runtime/made-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-drive-'));
test.after(() => rmSync(folder, { recursive: true }));

/** Every pass takes a millisecond by it. */
const CLOCK: ProcessorClock = {
  async time(run) {
    await run();
    return { wall: 0.001, own: 0.001 };
  },
};
const PAUSE = 0.2;

for (const clients of [undefined, 1])
  test(`what happens between passes takes no time, ${clients === undefined ? 'arrivals' : 'a client'}`, async () => {
    const file = await madeFile({ folder, name: `drive-${clients}` });
    const kernels = openKernels({ implementation: 'reference' });
    try {
      const sequences = loadSequences(file, { kernels, context: 32, pages: 8, pageTokens: 8, folder });
      const requests = [0, 0.3].map((arrival) => ({ arrival, promptTokens: 3, outputTokens: 4 }));
      const pauses: number[] = [];
      const { requests: served, passes } = await driveEngine(sequences, CLOCK, {
        requests,
        clients,
        async between(passSeconds) {
          pauses.push(passSeconds);
          await setTimeout(1000 * PAUSE);
        },
      });
      assert.equal(
        pauses,
        passes.map(() => 0.001),
      );
      assert.is(served.length, 2);
      // The first alone takes four passes, and so 0.8 s, in which the second, after 0.3 s, doesn't arrive.
      assert.is(passes.filter(({ load }) => load.texts === 2).length, 0);
      for (const { arrival, firstToken, end } of served) {
        assert.ok(end - firstToken >= 0.003, `${firstToken} ${end}`);
        assert.ok(end - arrival < 2 * PAUSE, `${arrival} ${end}`);
      }
    } finally {
      kernels.close();
    }
  });

test.run();
