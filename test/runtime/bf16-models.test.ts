import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantizeGguf } from '../../engine/gguf/quantize/quantize-gguf.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { nmse } from './nmse.ts';

/**
 * Error of llama.cpp's log-probabilities (node-llama-cpp 3.22.1, AVX-512 with BF16, cache in F16, 64 tokens in a batch) with
 * the weights of golden models in BF16: it rounds activations to bfloat16.
 */
const LLAMA_CPP: Readonly<Record<string, number>> = { gemma3: 3.6e-5, qwen35: 2.4e-4, qwen3moe: 7.3e-5 };

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
test.after(() => rmSync(folder, { recursive: true }));

/** Logits of all tokens less the mean of each row, as they follow from log-probabilities. */
function evaluated(path: string, tokens: readonly number[], kvCache: KvFormat, options: KernelOptions): Float32Array {
  const kernels = openKernels({ threads: 1, ...options });
  const logits = loadTransformer(path, { kernels, context: 64, kvCache }).evaluateAll(tokens);
  kernels.close();
  const width = logits.length / tokens.length;
  for (let at = 0; at < logits.length; at += width) {
    const row = logits.subarray(at, at + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    row.forEach((value, index) => {
      row[index] = value - mean;
    });
  }
  return logits;
}

for (const [name, distance] of Object.entries(LLAMA_CPP).filter(([name]) => hasGoldenArchitecture(`${name}-F16`)))
  test(`${name} in BF16: no further from double precision than one and a half times as far as llama.cpp`, async () => {
    const path = join(folder, `${name}.gguf`);
    await quantizeGguf({ input: goldenArchitecturePath(`${name}-F16`), path, mix: 'BF16', requantize: false });
    const { tokens } = goldenArchitecture(`${name}-F16`);
    const exact = evaluated(path, tokens, 'F32', { implementation: 'reference' });
    for (const instructionSet of NATIVE_SETS) {
      const found = nmse(evaluated(path, tokens, 'F16', { implementation: 'native', instructionSet }), exact);
      assert.ok(found < 1.5 * distance, `${instructionSet}: ${found}`);
    }
  });

test.run();
