import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { GgufTensor } from '../../../engine/gguf/gguf.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { pagesOf } from '../../../engine/runtime/weights/mapped-weights.ts';
import { planBudget } from '../../../engine/runtime/weights/memory-budget.ts';
import { createWeightsStream } from '../../../engine/runtime/weights/weights-stream.ts';
import { NATIVE_SETS } from '../../kernels/native-sets.ts';
import { testIf } from '../../support/needs.ts';

let [folder, path] = ['', ''];
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  path = join(folder, 'weights');
});
test.after(() => rmSync(folder, { recursive: true }));

/** Consecutive tensors, each with its own value, and an output; sizes in bytes. */
function writeTensors(layers: readonly (readonly number[])[], outputName: string) {
  const parts: Uint8Array[] = [];
  let offset = 0;
  const tensor = (name: string, bytes: number): GgufTensor => {
    parts.push(new Uint8Array(bytes).fill(parts.length + 1));
    offset += bytes;
    return { name, shape: [bytes, 1], type: 'F32', offset: offset - bytes, bytes };
  };
  const output = [tensor(outputName, 3000)];
  const all = layers.map((sizes, layer) => sizes.map((bytes, i) => tensor(`blk.${layer}.${i}`, bytes)));
  writeFileSync(path, Buffer.concat(parts));
  return { output, layers: all, fileBytes: offset };
}

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'whatever passes through, and for whatever budget: a part has its bytes when its turn comes, pass after pass',
  () => {
    const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 3 }), {
      minLength: 2,
      maxLength: 7,
    });
    const names = fc.constantFrom('output.weight', 'token_embd.weight');
    fc.assert(
      fc.property(sizes, fc.double({ min: 0, max: 1, noNaN: true }), names, (layerSizes, share, name) => {
        const file = writeTensors(layerSizes, name);
        const kernels = openKernels({ implementation: 'native', threads: 1 });
        const bytes = [...file.layers, file.output].flat().reduce((sum, one) => sum + one.bytes + 8192, 0);
        const room = 2 * Math.max(...layerSizes.map((own) => own.reduce((sum, one) => sum + one + 8192, 0)));
        const plan = planBudget({ ...file, fixed: [], budget: room + 8192 + Math.floor(share * bytes) });
        const pages = pagesOf(kernels, kernels.mapFile(path));
        const stream = createWeightsStream({ ...file, pages, plan });
        const check = (tensor: GgufTensor): void => {
          const { source, offset } = stream.place(tensor, variant) ?? { source: new Uint8Array(0), offset: 0 };
          const number = [file.output, ...file.layers].flat().indexOf(tensor) + 1;
          const found = source.subarray(offset, offset + tensor.bytes);
          assert.ok(found.length === tensor.bytes && found.every((value) => value === number), tensor.name);
        };
        let { variant } = stream;
        for (let pass = 0; pass < 5; pass++) {
          variant = stream.variant;
          stream.before('embedding');
          if (name === 'token_embd.weight') file.output.forEach(check);
          for (const [layer, tensors] of file.layers.entries()) {
            stream.before(layer);
            tensors.forEach(check);
            stream.after(layer);
          }
          stream.before('output');
          file.output.forEach(check);
        }
        stream.close();
        kernels.close();
      }),
      { seed: 8, numRuns: 60 },
    );
  },
);

test.run();
