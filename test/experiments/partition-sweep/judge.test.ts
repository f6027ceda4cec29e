import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { POLICIES } from '../../../experiments/partition-sweep/policies.ts';
import { sampleNumbers } from '../../../experiments/partition-sweep/space.ts';
import { createSweeper } from '../../../experiments/partition-sweep/sweeper.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { periodOf } from '../../../simulator/steady-seconds.ts';

const WORKLOAD = createWorkload({ context: 1024 });

for (const name of ['prima-home', 'prima-home-metal']) {
  const cluster = loadCluster(name);
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');

  /** Seconds of decoded tokens, simulated layer by layer. */
  const tokenSeconds = (plan: Plan, outputTokens: number): number[] => {
    const { trace } = simulate({
      cluster,
      model,
      plan,
      workload: { ...WORKLOAD, promptTokens: 1, outputTokens },
      context: 'fixed',
      record: 'tokens',
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

test('a token counts once it repeats, alone or with those before it', () => {
  assert.is(periodOf([2, 2]), undefined);
  assert.is(periodOf([3, 2, 2, 2.001]), 1);
  assert.is(periodOf([3, 2, 2, 2.01]), undefined);
  assert.is(periodOf([5, 1, 2, 1, 2, 1]), 2);
  assert.is(periodOf([1, 2, 1, 2]), undefined);
  assert.is(periodOf([9, 1, 1, 2, 1, 1, 2, 1]), 3);
});

test('plans at a limit of memory, where coarser reads would fall on its other side, have the time of a long run', () => {
  const { link: _, ...cluster } = loadCluster('prima-home');
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
  const given = { step: 4, gpuLevels: 1, outputs: ['cpu', 'gpu'], policies: POLICIES, reclaim: 'os' } as const;
  const sweeper = createSweeper({ ...given, cluster, model, workload: WORKLOAD, rounds: [1, 2, 4, 5, 8] });
  for (const number of [22063, 30666, 60376, 46052]) {
    const plan = sweeper.plan(number);
    const { trace } = simulate({
      cluster: loadCluster('prima-home'),
      model,
      plan,
      workload: { ...WORKLOAD, promptTokens: 1, outputTokens: 24 },
      context: 'fixed',
      record: 'tokens',
    });
    const later = trace.tokens.filter(({ phase }) => phase === 'decode').slice(8);
    const seconds = later.reduce((sum, { start, end }) => sum + end - start, 0) / later.length;
    const judged = sweeper.judge(plan);
    assert.ok('seconds' in judged && Math.abs(judged.seconds / seconds - 1) < 0.01, `plan ${number}: ${seconds} s`);
  }
});

test.run();
