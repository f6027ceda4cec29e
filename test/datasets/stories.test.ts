import { readFileSync, statSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { evaluateModels } from '../../experiments/train/evaluate-models.ts';

const TARGET = 'datasets/models/stories-3m.gguf';
const DRAFT = 'datasets/models/stories-300k.gguf';
const page = readFileSync('datasets/models/README.md', 'utf8');

test('the files have together less than 5 MB, and the sizes on their page', () => {
  const bytes = [TARGET, DRAFT].map((path) => statSync(path).size);
  assert.ok(bytes.reduce((sum, size) => sum + size) < 5e6);
  for (const size of bytes) assert.ok(page.includes(size.toLocaleString('en')), `${size}`);
});

test('both models predict held-out documents as well as their page says', () => {
  const [, target, draft, grammar] = /With `--documents 60`[^:]*: ([\d.]+) and ([\d.]+), the grammar ([\d.]+)\./.exec(
    page,
  ) as unknown as [string, string, string, string];
  const kernels = openKernels();
  try {
    const found = evaluateModels(kernels, { target: TARGET, draft: DRAFT }, { documents: 60, seed: 1 });
    assert.is(found.entropy.toFixed(4), grammar);
    // Instruction sets round differently.
    assert.ok(Math.abs(found.target - Number(target)) < 0.001, `target: ${found.target}`);
    assert.ok(Math.abs(found.draft - Number(draft)) < 0.001, `draft: ${found.draft}`);
    assert.ok(found.entropy < found.target && found.entropy < found.draft);
    assert.ok(Math.abs(found.acceptance.greedy - 0.98) < 0.01, `greedy: ${found.acceptance.greedy}`);
    assert.ok(Math.abs(found.acceptance.drawn - 0.98) < 0.01, `drawn: ${found.acceptance.drawn}`);
  } finally {
    kernels.close();
  }
});

test.run();
