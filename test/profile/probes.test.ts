import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { measureDisk } from '../../engine/profile/disk.ts';
import { withWeightsFile } from '../../engine/profile/probes/weights-file.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes } from '../../engine/profile/processor-probes.ts';
import { testIf } from '../support/needs.ts';

const addon = loadAddon();
const native = typeof addon !== 'string';
const MEBIBYTE = 2 ** 20;

let folder = '';
let file = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-probes-'));
  file = join(folder, 'weights');
  writeFileSync(file, Buffer.alloc(32 * MEBIBYTE, 0x2a));
});
test.after(() => rmSync(folder, { recursive: true }));

testIf(
  native,
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
    // Another build, such as the one with sanitizers, is slower in other proportions.
    if (process.env.HEARTH_ADDON !== undefined) return;
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

testIf(native, 'the addon is not built', 'disk: both rates, and the share that stayed in memory', () => {
  if (typeof addon === 'string') return;
  const { sequential, random, resident } = measureDisk(addon, file, 32 * MEBIBYTE, () => {});
  assert.ok(sequential.median > 1e5 && random.median > 1e3);
  assert.ok(resident >= 0 && resident <= 1);
});

testIf(native, 'the addon is not built', 'native disk probes refuse what can’t be', () => {
  if (typeof addon === 'string') return;
  assert.throws(() => addon.dropFromMemory(join(folder, 'missing')), /No such file/);
  assert.throws(() => addon.readInOrder(file, 31 * MEBIBYTE, 2 * MEBIBYTE), /ends early/);
  assert.throws(() => addon.faultPages(file, 16 * 1024, 1), /more pages than the file has/);
});

test('the weights file is removed, also if its use fails', async () => {
  const path = join(folder, 'made');
  const failing = withWeightsFile(path, 1, () => {
    assert.ok(readdirSync(folder).includes('made'));
    truncateSync(path);
    throw new Error('in use');
  });
  try {
    await failing;
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, 'in use');
  }
  assert.not.ok(readdirSync(folder).includes('made'));
});

test('an existing file is not overwritten', async () => {
  try {
    await withWeightsFile(file, 1, () => assert.unreachable());
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /exists already/);
  }
  assert.ok(readdirSync(folder).includes('weights'));
});

test.run();
