import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { type LoadOptions, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { testIf } from '../support/needs.ts';
import { madeFile } from './made-file.ts';

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'no policy changes a logit, token after token',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
    const path = await madeFile({ folder, name: 'five', shape: { layers: 5 } });
    const logits = (options: Omit<LoadOptions, 'kernels'>): number[][] => {
      const kernels = openKernels({ implementation: 'native', threads: 2 });
      const transformer = loadTransformer(path, { kernels, context: 8, ...options });
      const found = [[3, 141, 59], [26], [53], [58]].map((tokens) => [...transformer.evaluate(tokens)]);
      kernels.close();
      return found;
    };
    const whole = logits({});
    for (const prefetch of ['none', 'willneed', 'populate'] as const) {
      for (const weights of [
        { prefetch, release: 'none' },
        { prefetch, release: 'drop' },
        { prefetch, release: 'pinned', pinned: 3_000_000 },
      ] as const) {
        const policy = { windowLayers: 2, weights };
        assert.equal(logits({ policy }), whole, `${prefetch}, ${weights.release}`);
      }
    }
    rmSync(folder, { recursive: true });
  },
);

test.run();
