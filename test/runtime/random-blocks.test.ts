import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { roundsMore } from '../support/rounding-sets.ts';
import { nmse } from './nmse.ts';
import { RANDOM_BLOCKS_SHAPE, randomBlocksFile } from './random-blocks-file.ts';

/** Logits of llama.cpp (test/golden/README.md). */
interface Golden {
  readonly prompt: readonly number[];
  readonly positions: readonly number[];
  readonly tokenStep: number;
  readonly formats: Readonly<Record<string, { readonly rounding: number; readonly logits: string }>>;
}

const { prompt, positions, tokenStep, formats } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../golden/random-blocks-logits.json'), 'utf8'),
) as Golden;

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-blocks-'));
});
test.after(() => rmSync(folder, { recursive: true }));

/** The logits at the golden positions and tokens, less their mean. */
function logitsOf(kernels: Kernels, path: string): number[] {
  const all = loadTransformer(path, { kernels, context: prompt.length }).evaluateAll(prompt);
  kernels.close();
  const { vocabularySize } = RANDOM_BLOCKS_SHAPE;
  return positions.flatMap((position) => {
    const row = all.subarray(position * vocabularySize, (position + 1) * vocabularySize);
    const picked = [...row].filter((_, token) => token % tokenStep === 0);
    const mean = picked.reduce((sum, logit) => sum + logit, 0) / picked.length;
    return picked.map((logit) => logit - mean);
  });
}

/**
 * Distances from llama.cpp, whose activations have 8 bits, as a share of the distance between llama.cpp and itself with
 * the same weights in F32: about 1 without that rounding, and below 2 where both round, each in its own way.
 */
const [EXACT, ROUNDED] = [1.02, 2];

/** The error that products of many tokens in bfloat16 add, with AMX (runtime/golden.test.ts). */
const BF16 = 5e-4;

for (const [type, { rounding, logits }] of Object.entries(formats)) {
  test(`${type}: a whole model has the logits of llama.cpp, but for the rounding of activations`, async () => {
    const path = await randomBlocksFile(folder, type as Quantization);
    const bytes = Buffer.from(logits, 'base64');
    const golden = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
    const check = (what: string, kernels: Kernels, most: number, more = 0): void => {
      const distance = nmse(logitsOf(kernels, path), golden);
      assert.ok(distance <= most * rounding + more, `${what}: ${distance}, ${distance / rounding} of llama.cpp’s own`);
    };
    check('reference', openKernels({ implementation: 'reference' }), EXACT);
    for (const instructionSet of NATIVE_SETS) {
      const options = { implementation: 'native', instructionSet, threads: 1 } as const;
      check(`${instructionSet}, exact`, openKernels({ ...options, exact: true }), EXACT);
      const most = roundsMore(instructionSet) ? ROUNDED : EXACT;
      check(instructionSet, openKernels(options), most, instructionSet === 'amx' ? BF16 : 0);
    }
  });
}

test.run();
