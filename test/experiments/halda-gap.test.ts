import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { type GapRow, gapOf, summariseGap } from '../../experiments/halda-gap/gap.ts';

const solver = await loadIntegerSolver();
test.after(() => solver.dispose());

const settings = {
  clusters: 40,
  seed: 1000,
  least: 2,
  most: 8,
  models: [createNamedModel(loadCatalogue(), 'Llama-3-8B'), createNamedModel(loadCatalogue(), 'Llama-3-70B')],
  schedulers: ['optimal', 'halda', 'halda-repaired', 'memory-ratio', 'compute-ratio', 'single-device', 'cpu-gpu-split'],
  workload: createWorkload(),
  reclaim: 'overflow',
} as const;

for (const reclaim of ['overflow', 'lru', 'double'] as const) {
  test(`no scheduler is faster than the optimum on 40 random clusters under ${reclaim}`, () => {
    const rows = Array.from({ length: settings.clusters }, (_, index) =>
      gapOf(index, { ...settings, reclaim }, solver),
    ).flat();
    assert.ok(rows.length >= 30 * settings.schedulers.length);
    for (const scheduler of settings.schedulers) assert.is(summariseGap(scheduler, rows).beats, 0, scheduler);
    assert.is(summariseGap('optimal', rows).hits, rows.length / settings.schedulers.length);
  });
}

test('a cluster depends only on its seed', () => {
  assert.equal(gapOf(3, settings, solver), gapOf(0, { ...settings, seed: 1003 }, solver));
});

test('the summary has the values computed by hand', () => {
  const row = (seconds: number | undefined): GapRow => ({
    seed: 1,
    devices: 2,
    regime: 'short',
    model: 'm',
    scheduler: 'halda',
    optimum: 1,
    paperOptimum: 1.2,
    seconds,
    reason: '',
  });
  assert.equal(summariseGap('halda', [row(1), row(1.2), row(3), row(undefined)]), {
    scheduler: 'halda',
    clusters: 4,
    planned: 3,
    hits: 1,
    paperHits: 2,
    beats: 0,
    median: 1.2 - 1,
    p95: 2,
    worst: 2,
  });
});

test.run();
