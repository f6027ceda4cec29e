import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { mappedWeights, pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import { placeTensors } from '../../engine/runtime/weights/place-tensors.ts';
import { weightsLayout } from '../../engine/runtime/weights/weights-layout.ts';
import { testNative } from '../kernels/native-sets.ts';
import { writeParts } from '../support/write-parts.ts';
import { madeFile } from './made-file.ts';

const TOKENS = [5, 6, 7, 8, 9];
const LAYERS = 5;

let folder = '';
let whole = '';
let parts: string[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-in-parts-'));
  whole = await madeFile({ folder, name: 'whole', mix: 'Q8_0', shape: { layers: LAYERS } });
  // Seven parts: layers lie in two of them.
  parts = await writeParts(whole, { folder, name: 'parts', count: 7 });
});
test.after(() => rmSync(folder, { recursive: true }));

async function logits(path: string, implementation: 'native' | 'reference'): Promise<number[]> {
  const kernels = openKernels({ implementation, threads: 1 });
  try {
    const transformer = loadTransformer(path, { kernels, context: 64 });
    const result = [...(await transformer.evaluate(TOKENS))];
    result.push(...(await transformer.evaluate([10])));
    return result;
  } finally {
    kernels.close();
  }
}

test('a model in parts has the logits that it has in one file', async () => {
  assert.equal(await logits(parts[0] as string, 'reference'), await logits(whole, 'reference'));
});

testNative('mapped, a model in parts has the logits that it has in one file', async () => {
  const expected = await logits(whole, 'native');
  assert.equal(await logits(parts[0] as string, 'native'), expected);
});

testNative('pages of a model in parts are prefetched, pinned and released, across parts', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  try {
    const path = parts[0] as string;
    const gguf = withFile(path, readGguf);
    const file = kernels.mapFile(path);
    const weights = mappedWeights(kernels, file, weightsLayout(gguf, modelFromGguf(gguf)));
    for (let layer = 0; layer < LAYERS; layer++) {
      const set = weights.of([layer]);
      const bytes = set.ranges.reduce((sum, { from, to }) => sum + to - from, 0);
      weights.prefetch(set, 'populate').wait();
      assert.is(weights.resident(set), bytes);
      for (const outcome of weights.pin(set).wait()) assert.not(outcome.cancelled);
      weights.unpin(set).wait();
      weights.release(set).wait();
    }
    weights.close();
  } finally {
    kernels.close();
  }
});

testNative('the tensors of a layer are read past the page cache from the parts that have them', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  try {
    const path = parts[0] as string;
    const { tensors } = withFile(path, readGguf);
    const file = kernels.mapFile(path);
    const pages = pagesOf(kernels, file);
    for (let layer = 0; layer < LAYERS; layer++) {
      const own = tensors.filter(({ name }) => name.startsWith(`blk.${layer}.`));
      const placement = placeTensors(own, file.size);
      const buffer = pages.buffer(placement.bytes);
      for (const { range, offset } of placement.reads)
        pages.read(range, [{ buffer, offset, bytes: range.to - range.from }]).wait();
      for (const tensor of own) {
        const at = placement.offsetOf(tensor);
        const expected = withFile(path, (source) => source.read(tensor.offset, tensor.bytes));
        assert.equal(Buffer.compare(buffer.bytes.subarray(at, at + tensor.bytes), expected), 0, tensor.name);
      }
    }
  } finally {
    kernels.close();
  }
});

test.run();
