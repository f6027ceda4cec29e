import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { SplitPlan } from '../../../engine/plan/plan.ts';
import { openSplitModel } from '../../../engine/runtime/split/split-transformer.ts';
import { splitPlan } from '../../../engine/schedule/helm/cpu-gpu-split.ts';
import { goldenModel } from '../../support/golden-models.ts';
import { testGpu } from '../../support/gpu.ts';
import { changed, kernelsWith } from './kernels-with.ts';

/** Kernels, and how often commands, not only data, went to their device. */
async function countedKernels() {
  let count = 0;
  const kernels = await kernelsWith(({ queue }) => ({
    queue: changed(queue, {
      submit(commands) {
        if ([...commands].length > 0) count++;
        queue.submit(commands);
      },
    }),
  }));
  return { kernels, submissions: () => count };
}

testGpu(
  'a token is one submission, wherever a model is split and whether its logits or its best come back',
  async () => {
    const path = goldenModel('llama-Q8_0');
    const cpu = openKernels({ implementation: 'reference' });
    const { kernels, submissions } = await countedKernels();
    const opened = openSplitModel(path, { cpu, gpu: kernels, context: 8 });
    // Units of a model of two layers: embedding, layers, output; with three on the CPU, the GPU has the output alone.
    for (const cpuUnits of [0, 1, 2, 3]) {
      const plan = splitPlan('here', opened.model, cpuUnits, 'with-layers') as SplitPlan;
      const model = await opened.on(plan);
      const submissionsOf = async (run: () => Promise<unknown> | undefined): Promise<number> => {
        const before = submissions();
        await run();
        return submissions() - before;
      };
      await model.evaluate([1, 2, 3]);
      await model.candidates?.([4], 1);
      assert.is(await submissionsOf(() => model.evaluate([5])), 1, `${cpuUnits} units on the CPU, logits`);
      assert.is(await submissionsOf(() => model.candidates?.([6], 1)), 1, `${cpuUnits} units on the CPU, the best`);
    }
    opened.close();
    kernels.close();
  },
);

testGpu('what is written after an operation that uses it does not reach that operation', async () => {
  const { kernels, submissions } = await countedKernels();
  const [x, other, y] = [kernels.vector([1]), kernels.vector([10]), kernels.vector([0])];
  const before = submissions();
  kernels.run([{ kind: 'add', x, y }]);
  other.values[0] = 20;
  kernels.write(other);
  assert.is(submissions(), before, 'nothing that was encoded uses it');
  x.values[0] = 2;
  kernels.write(x);
  kernels.run([
    { kind: 'add', x, y },
    { kind: 'add', x: other, y },
  ]);
  await kernels.read(y);
  assert.is(y.values[0], 1 + 2 + 20);
  kernels.close();
});

testGpu('two embeddings without a result between them have their own tokens', async () => {
  const { kernels } = await countedKernels();
  const source = new Uint8Array(Float32Array.of(1, 2, 3).buffer);
  const table = kernels.matrix({ source, type: 'F32', rows: 3, columns: 1 });
  const [first, second] = [kernels.vector(1), kernels.vector(1)];
  kernels.run([
    { kind: 'embed', table, tokens: [2], y: first },
    { kind: 'embed', table, tokens: [1], y: second },
  ]);
  // Is used by what was just encoded, though the second embedding's tokens made the first one go.
  second.values[0] = 7;
  kernels.write(second);
  await kernels.read(first);
  await kernels.read(second);
  assert.equal([first.values[0], second.values[0]], [3, 7]);
  kernels.close();
});

test.run();
