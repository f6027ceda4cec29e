import { readFileSync, statSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseRoutings } from '../../engine/experts/recorded/parse-routings.ts';
import { layersOf, overlapAt, type Routing, usesOf } from '../../engine/experts/routing.ts';
import { formatPercent } from '../../engine/input/format.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { evaluateModels } from '../../experiments/train/evaluate-models.ts';
import { recordDocuments } from '../../experiments/train/record-documents.ts';

const TARGET = 'datasets/models/stories-3m.gguf';
const DRAFT = 'datasets/models/stories-300k.gguf';
const MIXTURE = 'datasets/models/stories-mixture.gguf';
const ROUTING = 'datasets/models/stories-mixture-routing.json';
const page = readFileSync('datasets/models/README.md', 'utf8');

test('the files have less than 5 MB each, and the sizes on their page', () => {
  const bytes = [TARGET, DRAFT, MIXTURE].map((path) => statSync(path).size);
  assert.ok(bytes.every((size) => size < 5e6));
  for (const size of bytes) assert.ok(page.includes(size.toLocaleString('en')), `${size}`);
});

test('both models predict held-out documents as well as their page says', () => {
  const [, target, draft, grammar] = /With `--documents 60`[^:]*: ([\d.]+) and ([\d.]+), the grammar ([\d.]+);/.exec(
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

test('the mixture predicts held-out documents as well as its page says', () => {
  const [, expected] = /; ([\d.]+) with the mixture as the target\./.exec(page) as unknown as [string, string];
  const kernels = openKernels();
  try {
    const { target } = evaluateModels(kernels, { target: MIXTURE, draft: DRAFT }, { documents: 60, seed: 1 });
    assert.ok(Math.abs(target - Number(expected)) < 0.001, `${target}`);
  } finally {
    kernels.close();
  }
});

const [recorded] = [...parseRoutings(readFileSync(ROUTING, 'utf8'), ROUTING).values()] as [Routing];

test('the mixture uses the experts that were recorded', () => {
  const kernels = openKernels();
  try {
    const found = recordDocuments(kernels, MIXTURE, { documents: 3, seed: 1 });
    const same = found.chosen.filter((expert, index) => expert === recorded.chosen[index]).length;
    // Instruction sets round differently, and scores may be nearly equal.
    assert.ok(same > 0.98 * found.chosen.length, `${same} of ${found.chosen.length}`);
  } finally {
    kernels.close();
  }
});

test('the page has how each layer of the mixture uses its experts', () => {
  for (const [layer, uses] of usesOf(recorded).entries()) {
    const shares = [...uses].map((count) => count / recorded.tokens);
    const again = overlapAt(layersOf(recorded, [layer]), 1);
    const byChance = shares.reduce((sum, share) => sum + share * share, 0) / recorded.used;
    const cells = [Math.min(...shares), Math.max(...shares), again, byChance].map(formatPercent);
    const row = [`${layer}`, ...cells];
    const found = page.split('\n').some((line) => {
      const words = line.split('|').map((word) => word.trim());
      return words.slice(1, -1).join('|') === row.join('|');
    });
    assert.ok(found, `| ${row.join(' | ')} |`);
  }
});

test.run();
