import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { type LoadOptions, loadTransformer } from '../../engine/runtime/load-transformer.ts';
import { equalWindows, windowHooks } from '../../engine/runtime/pass-hooks.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { testIf } from '../support/needs.ts';
import { madeFile } from './made-file.ts';

test('windows of equal size, the output with the last', () => {
  assert.equal(equalWindows(5, 2), [
    [0, 1],
    [2, 3],
    [4, 'output'],
  ]);
});

test('a window is waited for before its first part, and left after its last', () => {
  const log: string[] = [];
  const hooks = windowHooks(equalWindows(3, 2), {
    pinnedBytes: 0,
    before: (window) => log.push(`before ${window}`),
    arrival: async () => {},
    ran: () => 0,
    after: (window) => log.push(`after ${window}`),
    close() {},
  });
  for (const name of ['embedding', 'layer 0', 'layer 1', 'layer 2', 'output'] as const) {
    hooks.before?.(name);
    log.push(name);
    hooks.after?.({ name, tokens: 1, start: 0, end: 0, parts: [] });
  }
  const first = ['before 0', 'layer 0', 'layer 1', 'after 0'];
  assert.equal(log, ['embedding', ...first, 'before 1', 'layer 2', 'output', 'after 1']);
});

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
