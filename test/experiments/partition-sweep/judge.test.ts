import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { CHUNK_BYTES, EXTENT_BYTES } from '../../../experiments/partition-sweep/judge.ts';
import { sampleNumbers } from '../../../experiments/partition-sweep/space.ts';
import { createSweeper } from '../../../experiments/partition-sweep/sweeper.ts';
import { simulate } from '../../../simulator/simulate.ts';

const WORKLOAD = createWorkload({ context: 1024 });

for (const name of ['prima-home', 'prima-home-metal']) {
  const cluster = loadCluster(name);
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');

  /** Seconds of decoded tokens with a sweep's extents and chunks, simulated layer by layer. */
  const tokenSeconds = (plan: Plan, outputTokens: number): number[] => {
    const { trace } = simulate({
      cluster,
      model,
      plan,
      workload: { ...WORKLOAD, promptTokens: 1, outputTokens },
      context: 'fixed',
      record: 'tokens',
      extentBytes: EXTENT_BYTES,
      chunkBytes: CHUNK_BYTES,
    });
    return trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
  };

  test(`without prefetching, the judged time is that of every later token: ${name}`, () => {
    const { link: _, ...devices } = cluster;
    const rounds = [1, 2, 4];
    const policies = ['none', 'pinned'] as const;
    const outputs = ['cpu', 'gpu'] as const;
    const setting = {
      model,
      workload: WORKLOAD,
      reclaim: 'os',
      rounds,
      step: 4,
      gpuLevels: 1,
      outputs,
      policies,
    } as const;
    const sweeper = createSweeper({ ...setting, cluster: devices });
    let judged = 0;
    for (const number of sampleNumbers(sweeper.space.size, 60, 1)) {
      const plan = sweeper.plan(number);
      if (Object.values(plan.weights).some(({ prefetch }) => prefetch !== 'none')) continue;
      const found = sweeper.judge(plan);
      if ('failed' in found) continue;
      judged++;
      for (const seconds of tokenSeconds(plan, 6)) {
        assert.ok(Math.abs(found.seconds / seconds - 1) < 1e-9, `plan ${number}: ${found.seconds} s, not ${seconds}`);
      }
    }
    assert.ok(judged >= 30, `${judged} plans without prefetching`);
  });
}

test.run();
