import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadClusterFile, loadPublished } from '../../../../datasets/load.ts';
import type { PublishedCell } from '../../../../datasets/published.ts';
import { besideDraft, draftedSeconds, draftOf, SPECULATION } from '../../../../experiments/papers/prima/drafts.ts';
import { near } from '../../../support/near.ts';

const published = loadPublished();
const modelOf = (name: string) => createNamedModel(loadCatalogue(), name);
const cellOf = (row: string): PublishedCell =>
  published.find(
    (cell) => cell.table === 'Table 10' && cell.row === row && cell.column === 'prima.cpp (with speculative)',
  ) as PublishedCell;

test('drafts are of the target’s family and of the printed size and processor', () => {
  const found = ['Qwen-2.5-7B', 'Llama 3.2-8B', 'DeepSeek-R1-Distill-Llama-70B', 'Qwen-2.5-72B'].map((row) => {
    const { model, processor } = draftOf(cellOf(row), published, modelOf);
    return `${model.name} ${processor}`;
  });
  assert.equal(found, ['Qwen2.5-0.5B gpu', 'Llama-3.2-1B gpu', 'Llama-3-8B cpu', 'Qwen2.5-3B cpu']);
});

test('a draft in VRAM is seen by the scheduler, one in RAM isn’t', () => {
  const { cluster } = loadClusterFile('prima-a9');
  const lost = (row: string, sees: 'belief' | 'truth'): readonly [number, number] => {
    const draft = draftOf(cellOf(row), published, modelOf);
    const [before, after] = [cluster.devices[0], besideDraft(cluster, draft, sees).devices[0]];
    const ram = (before?.memory.available ?? 0) - (after?.memory.available ?? 0);
    return [ram, (before?.gpu?.memory.available ?? 0) - (after?.gpu?.memory.available ?? 0)];
  };
  assert.ok(lost('Llama 3.3-70B', 'belief')[1] > 1.5e9);
  assert.equal(lost('Llama 3.3-70B', 'truth')[0], 0);
  assert.equal(lost('Qwen-2.5-72B', 'belief'), [0, 0]);
  assert.ok(lost('Qwen-2.5-72B', 'truth')[0] > 1.5e9);
});

test('five drafts and a verification of six give the tokens of the acceptance rate', () => {
  assert.is(SPECULATION.draftTokens, 5);
  const { acceptanceRate: rate } = SPECULATION;
  const tokens = (1 - rate ** 6) / (1 - rate);
  near(
    draftedSeconds(0.01, (count) => 0.1 * count),
    (5 * 0.01 + 0.6) / tokens,
    1e-12,
  );
});

test.run();
