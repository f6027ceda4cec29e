import * as assert from 'uvu/assert';
import { planWithLayers } from '../../commands/gpu-layers.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import { GOLDEN_MODELS, type GoldenModel, goldenModel, readGolden } from '../support/golden-models.ts';
import type { GpuCheck } from '../support/gpu-variants.ts';
import { nmse } from './nmse.ts';

/** The plan with so many layers and the output of a model's file on the GPU. */
export const planOf = (path: string, gpuLayers: number, kvCache: Plan['kvCache'] = 'with-layers') =>
  planWithLayers(modelFromGguf(withFile(path, readGguf)), gpuLayers, kvCache);

const cpu = openKernels({ implementation: 'reference' });

const anySplit = (name: GoldenModel): GpuCheck => ({
  name: `${name}: any split between CPU and GPU gives the logits and the text of double precision`,
  on: 'plain',
  async check(gpu) {
    const { prompt_short: prompt, ref64 } = readGolden(name);
    const path = goldenModel(name);
    for (const gpuLayers of [1, 2]) {
      const context = prompt.length + 4;
      const model = await openSplitModel(path, { cpu, gpu, context, kvCache: 'F32' }).on(planOf(path, gpuLayers));
      let logits = await model.evaluate(prompt);
      const expected = ref64.short_logits.at(-1) as Float32Array;
      assert.ok(nmse(logits, expected) < 1e-9, `${gpuLayers} layers: ${nmse(logits, expected)}`);
      for (const [step, token] of ref64.short_greedy.slice(0, 3).entries()) {
        assert.is(logits.indexOf(Math.max(...logits)), token, `${gpuLayers} layers, token ${step}`);
        logits = await model.evaluate([token]);
      }
    }
  },
});

const rounded: GpuCheck = {
  name: 'with activations of a prompt rounded to bytes, logits stay within the bound of a CPU’s',
  on: 'rounded',
  async check(gpu) {
    for (const name of ['llama-Q5_K', 'llama-Q8_0'] as const) {
      const { prompt_short: prompt, ref64 } = readGolden(name);
      const path = goldenModel(name);
      const model = await openSplitModel(path, { cpu, gpu, context: prompt.length, kvCache: 'F32' }).on(
        planOf(path, 2),
      );
      const error = nmse(await model.evaluate(prompt), ref64.short_logits.at(-1) as Float32Array);
      assert.ok(error < 2.5e-3, `${name}: ${error}`);
    }
  },
};

/** Whole models on a GPU against double precision. */
export const GOLDEN_CHECKS: readonly GpuCheck[] = [...GOLDEN_MODELS.map(anySplit), rounded];
