import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes } from '../../engine/profile/processor-probes.ts';
import { testIf } from '../support/needs.ts';

const MEBIBYTE = 2 ** 20;

let folder = '';
let file = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-rounds-'));
  file = join(folder, 'weights');
  writeFileSync(file, Buffer.alloc(32 * MEBIBYTE, 0x2a));
});
test.after(() => rmSync(folder, { recursive: true }));

testIf(
  typeof loadAddon() !== 'string',
  'the addon is not built',
  'two rounds: the first finds out how long probes take, the second counts',
  async () => {
    const { opened: kernels, clock } = clockFor(() => openKernels({ implementation: 'native', threads: 2 }));
    const probes = createProcessorProbes(
      { kernels, clock, weights: kernels.mapFile(file), weightBytes: 32 * MEBIBYTE },
      ['Q4_K'],
      { passes: true },
    );
    const seen: string[] = [];
    await probes.round((label) => seen.push(label));
    assert.equal(seen, probes.labels);
    assert.throws(() => probes.measures(), /nothing was measured/);
    await probes.round();
    const measures = probes.measures();
    assert.ok(probes.isComplete);
    const next: string[] = [];
    await probes.step((label) => next.push(label));
    kernels.close();
    assert.equal([next, probes.rounds, probes.isComplete], [seen.slice(0, 1), 2, false]);
    const [first, second] = [probes.measures(0, 1), probes.measures(1, 2)];
    assert.equal(second.activations, measures.activations);
    assert.is(first.activations.repeats, 1);
    assert.is(measures.threads, 2);
    assert.equal([...measures.vectorProducts.keys()], ['Q4_K']);
    // Per token, a product with one token takes at least as long as with a prompt: its weights are read for it alone.
    const [vector, matrix] = [measures.vectorProducts.get('Q4_K'), measures.matrixProducts.get('Q4_K')];
    assert.ok((matrix?.median ?? 1) < (vector?.median ?? 0));
    for (const rate of [measures.attentionFromMemory, measures.attentionFromCache, measures.activations]) {
      assert.ok(rate.median > 1e7 && rate.median < 1e13, `${rate.median} bytes per second`);
    }
    const { shallow, deep } = measures.smallPass;
    for (const seconds of [measures.keyValueCopy, shallow, deep]) {
      assert.ok(seconds.median > 1e-9 && seconds.median < 0.1, `${seconds.median} s`);
    }
    assert.ok(deep.median > shallow.median, `${deep.median} and ${shallow.median} s`);
    const { passes } = measures;
    assert.ok(passes);
    const { oneText, severalTexts, attention } = passes;
    assert.ok(severalTexts.deep.median > oneText.deep.median);
    for (const { median } of Object.values(attention))
      assert.ok(median > 1e-13 && median < 1e-7, `${median} s per byte`);
    const perWeight = measures.onePrompt.median;
    assert.ok(perWeight > 1e-13 && perWeight < 1e-8, `${perWeight} s per weight`);
  },
);

test.run();
