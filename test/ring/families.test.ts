import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createKeys } from '../../engine/ring/wire/keys.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { nmse } from '../runtime/nmse.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { equalLayout, headHere, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

/** The last has divisors of its angles for contexts of up to 64 tokens, and others for longer ones. */
const CASES = [
  ['gemma3-F16', 256],
  ['granite-F16', 256],
  ['mistral3-F16', 256],
  ['smollm3-F16', 256],
  ['glm4moe-F16', 256],
  ['gpt-oss-MXFP4', 256],
  ['qwen2moe-F16', 256],
  ['deepseek2-mla-F16', 256],
  ['gemma4-moe-F16', 256],
  ['granite-hybrid-F16', 256],
  ['lfm2moe-F16', 256],
  ['nemotron-h-moe-F16', 256],
  ['qwen35moe-F16', 256],
  ['phi3-F16', 256],
  ['phi3-F16', 48],
] as const;

for (const [name, context] of CASES.filter(([one]) => hasGoldenArchitecture(one)))
  test(`${name} in a ring, context ${context}: as in one process`, async () => {
    const path = goldenArchitecturePath(name);
    const tokens = goldenArchitecture(name).tokens.slice(0, context - 4);
    const kernels = openKernels({ threads: 1 });
    const one = loadTransformer(path, { kernels, context, kvCache: 'F32' });
    const headKeys = createKeys();
    const { worker, member } = await workerHere('a', path, { headKeys });
    const { head } = headHere(path, [member], {
      keys: headKeys,
      settings: { ...SETTINGS, context, pageTokens: context },
    });
    await head.gather();
    await head.assemble(equalLayout(['head', 'a'], one.model.layers, one.model.layers > 3 ? 2 : 1));
    const request = requestOf(head);
    // Parts of at most a chunk of the ring: fewer tokens may be multiplied in another way.
    for (const [from, to] of [
      [0, 21],
      [21, 22],
      [22, 22 + SETTINGS.chunk],
      [22 + SETTINGS.chunk, tokens.length],
    ] as const) {
      const part = tokens.slice(from, to);
      if (part.length === 0) continue;
      const difference = nmse(await request.evaluate(part), one.evaluate(part));
      assert.ok(difference < 1e-10, `${from} to ${to}: ${difference}`);
    }
    await head.close();
    await worker.close();
    kernels.close();
  });

test.run();
