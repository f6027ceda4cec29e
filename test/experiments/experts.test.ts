import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { differences } from '../../experiments/experts/answers.ts';
import { drawnPolicies, policyName } from '../../experiments/experts/cells.ts';

test('drawn policies are possible ones, the same for a seed', () => {
  const cells = { count: 200, seed: 3, used: 8, layers: 6, most: 90 };
  const policies = drawnPolicies(cells);
  assert.equal(drawnPolicies(cells), policies);
  for (const { slots, pool, method, eviction, lookahead } of policies) {
    if (method === 'mmap') continue;
    const all = pool === 'all' ? (slots as number) : 6 * (slots as number);
    assert.ok(all >= 48 && all <= 90, `${slots} ${pool}`);
    assert.ok(eviction !== 'pinned-hottest' || lookahead.kind === 'none');
  }
  assert.is(policyName({ ...USUAL_EXPERTS, slots: 9 }), 'direct, 9 slots, lru, depth 4, hits first');
});

test('an access that reads what the caches hold is counted as different', () => {
  const policy = { ...USUAL_EXPERTS, slots: 2 };
  const routing = { tokens: 2, layers: 1, experts: 4, used: 2, chosen: Uint16Array.of(0, 1, 1, 2) };
  const access = (experts: number[], read: number[]) => ({ layer: 0, kind: 'need' as const, experts, read });
  assert.is(differences(policy, routing, [access([0, 1], [0, 1]), access([1, 2], [2])]), 0);
  assert.is(differences(policy, routing, [access([0, 1], [0, 1]), access([1, 2], [1, 2])]), 1);
});

test.run();
