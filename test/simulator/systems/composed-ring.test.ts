import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { POLICIES } from '../../../experiments/partition-sweep/policies.ts';
import { sampleNumbers } from '../../../experiments/partition-sweep/space.ts';
import { createSweeper } from '../../../experiments/partition-sweep/sweeper.ts';
import type { SimulationParts } from '../../../simulator/options.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { createRingComposer } from '../../../simulator/systems/composed-ring.ts';
import { randomPlans } from '../../support/random-plan.ts';

const TOKENS = 5;
const enough = (seconds: readonly number[]): boolean => seconds.length === TOKENS;

/** Seconds of decoded tokens, simulated as a whole; `undefined` if memory doesn't suffice. */
function wholeSeconds(parts: Omit<SimulationParts, 'context' | 'record'>): number[] | undefined {
  const workload = { ...parts.workload, promptTokens: 1, outputTokens: TOKENS };
  const { outOfMemory, trace } = simulate({ ...parts, workload, context: 'fixed', record: 'tokens' });
  if (outOfMemory.length > 0) return undefined;
  return trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
}

function assertSame(composed: readonly number[], whole: readonly number[], plan: Plan): void {
  assert.is(composed.length, whole.length);
  for (const [token, seconds] of composed.entries()) {
    const other = whole[token] as number;
    assert.ok(
      Math.abs(seconds - other) <= 1e-9 * other,
      `token ${token}: ${seconds} s, as a whole ${other} s, of ${JSON.stringify(plan)}`,
    );
  }
}

const EXTENT = 4096;
const policies = fc.record({
  prefetch: fc.constantFrom('none' as const, 'willneed' as const, 'populate' as const),
  drops: fc.boolean(),
  reclaim: fc.constantFrom('os' as const, 'overflow' as const),
});

test('a ring that is composed of its devices has the tokens of one that is simulated as a whole, for any plan', () => {
  let composedPlans = 0;
  let waiting = 0;
  const property = fc.property(randomPlans(), policies, ({ problem, ...windows }, { prefetch, drops, reclaim }) => {
    const { belief, model, workload, runtime } = problem;
    const head = belief.devices[0]?.name ?? '';
    const ring = ringPlan({ scheduler: 'random', head, ...windows, prefetch });
    const release = drops ? 'drop' : 'none';
    const weights = Object.fromEntries(belief.devices.map(({ name }) => [name, { prefetch, release } as const]));
    const plan = { ...ring, weights };
    const parts = { cluster: belief, model, workload, runtime, reclaim, extentBytes: EXTENT };
    const whole = wholeSeconds({ ...parts, plan });
    const composed = createRingComposer(parts)(plan, enough);
    if (composed === undefined) return;
    assert.ok(whole !== undefined, 'memory does not suffice');
    assertSame(composed, whole, plan);
    composedPlans += 1;
    if (whole.some((seconds) => Math.abs(seconds / (whole[0] as number) - 1) > 1e-3)) waiting += 1;
  });
  fc.assert(property, { seed: 11, numRuns: 400 });
  assert.ok(composedPlans > 80 && waiting > 1, `${composedPlans} composed, ${waiting} with unequal tokens`);
});

test('plans of a sweep have the same times, to the last bit whatever was simulated before them', () => {
  const cluster = loadCluster('prima-home');
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
  const workload = createWorkload({ context: 1024 });
  const { link: _, ...devices } = cluster;
  const given = { step: 8, gpuLevels: 1, outputs: ['cpu', 'gpu'], policies: POLICIES, reclaim: 'os' } as const;
  const sweeper = createSweeper({ ...given, cluster: devices, model, workload, rounds: [1, 2, 5] });
  const plans = Array.from(sampleNumbers(sweeper.space.size, 30, 1), (number) => sweeper.plan(number));
  const parts = { cluster, model, workload, reclaim: 'os' } as const;
  const [forwards, backwards] = [createRingComposer(parts), createRingComposer(parts)];
  const composed = plans.map((plan) => forwards(plan, enough));
  const again = plans.toReversed().map((plan) => backwards(plan, enough));
  assert.equal(again.toReversed(), composed);
  let compared = 0;
  for (const [index, plan] of plans.entries()) {
    const seconds = composed[index];
    if (seconds === undefined || index % 3 > 0) continue;
    assertSame(seconds, wholeSeconds({ ...parts, plan }) as number[], plan);
    compared += 1;
  }
  assert.ok(compared >= 8, `${compared} plans`);
});

test('what cannot be composed is left to a whole simulation', () => {
  const cluster = loadCluster('prima-home');
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
  const workload = createWorkload({ context: 1024 });
  const windows = cluster.devices.map(({ name }) => ({ device: name, layers: 20, gpuLayers: 0 }));
  const plan = ringPlan({ scheduler: 'hand', head: 'D3', rounds: 1, windows });
  const alone = ringPlan({
    scheduler: 'hand',
    head: 'D3',
    rounds: 1,
    windows: [{ device: 'D3', layers: 80, gpuLayers: 0 }],
  });
  const parts = { cluster, model, workload, reclaim: 'os' } as const;
  assert.is(createRingComposer(parts)(plan, enough)?.length, TOKENS);
  assert.is(createRingComposer(parts)(alone, enough), undefined);
  assert.is(createRingComposer({ ...parts, reclaim: { name: 'linux-two-list' } })(plan, enough), undefined);
  const { links } = cluster;
  const lossy = { ...cluster, links: { ...links, default: { ...links.default, loss: 0.01 } } };
  assert.is(createRingComposer({ ...parts, cluster: lossy })(plan, enough), undefined);
});

test.run();
