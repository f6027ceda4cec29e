import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planWithLayers } from '../../engine/commands/gpu-layers.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openSplitModel } from '../../engine/runtime/split-transformer.ts';
import { GOLDEN_MODELS, goldenModel, readGolden } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { nmse } from './nmse.ts';

const planOf = (path: string, gpuLayers: number) => planWithLayers(modelFromGguf(withFile(path, readGguf)), gpuLayers);

const cpu = openKernels({ implementation: 'reference' });

for (const name of GOLDEN_MODELS) {
  testGpu(`${name}: any split between CPU and GPU gives the logits and the text of double precision`, async (gpu) => {
    const { prompt_short: prompt, ref64 } = readGolden(name);
    const path = goldenModel(name);
    for (const gpuLayers of [1, 2]) {
      const context = prompt.length + 4;
      const model = openSplitModel(path, { cpu, gpu, context, kvCache: 'F32' }).on(planOf(path, gpuLayers));
      let logits = await model.evaluate(prompt);
      const expected = ref64.short_logits.at(-1) as Float32Array;
      assert.ok(nmse(logits, expected) < 1e-9, `${gpuLayers} layers: ${nmse(logits, expected)}`);
      for (const [step, token] of ref64.short_greedy.slice(0, 3).entries()) {
        assert.is(logits.indexOf(Math.max(...logits)), token, `${gpuLayers} layers, token ${step}`);
        logits = await model.evaluate([token]);
      }
    }
  });
}

testGpu('after a rewind the same tokens give the same logits', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  const model = openSplitModel(path, { cpu, gpu, context: 16 }).on(planOf(path, 1));
  await model.evaluate([1, 2, 3]);
  const first = (await model.evaluate([4])).slice();
  model.rewind(3);
  assert.equal(await model.evaluate([4]), first);
});

testGpu('more layers than the model has, and more tokens than the context, are refused', async (gpu) => {
  const path = goldenModel('llama-Q8_0');
  assert.throws(() => planOf(path, 3), /--gpu-layers: 3 of a model of 2 layers; allowed: 0 to 2, all, auto/);
  const model = openSplitModel(path, { cpu, gpu, context: 2 }).on(planOf(path, 1));
  await model.evaluate([1, 2]).then(
    () => {},
    () => assert.unreachable(),
  );
  const error = await model.evaluate([3]).catch(({ message }: Error) => message);
  assert.is(error, "context: 3 tokens don't fit into 2; ask for a longer context");
});

test.run();
