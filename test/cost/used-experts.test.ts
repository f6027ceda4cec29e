import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../datasets/load.ts';
import { readTogether, usedExperts } from '../../engine/cost/used-experts.ts';
import { drawnRouting } from '../../engine/experts/drawn-routings.ts';
import { usualRouting } from '../../engine/experts/usual-routing.ts';
import { measuredWorkingSets } from '../../engine/experts/working-set.ts';
import { distinctExperts } from '../../engine/model/feed-forward.ts';

const ROUTERS = [
  { experts: 128, used: 8 },
  { experts: 32, used: 4 },
  { experts: 8, used: 2 },
] as const;

test('one token uses k experts, many use all, and tokens of one text fewer than those of several', () => {
  for (const router of ROUTERS) {
    assert.is(usedExperts(router, 1, 'text'), router.used);
    assert.is(usedExperts(router, 0, 'text'), 0);
    assert.ok(usedExperts(router, 4096, 'text') > 0.99 * router.experts);
    for (const tokens of [2, 4, 8, 32]) {
      const [text, texts] = [usedExperts(router, tokens, 'text'), usedExperts(router, tokens, 'texts')];
      assert.ok(usedExperts(router, tokens - 1, 'text') < text);
      assert.ok(text < texts && texts < distinctExperts(router, tokens), `${text}, ${texts} of ${tokens} tokens`);
    }
  }
});

test('tokens of a drawn text use as many different experts as the closed form has it, within 6 %', () => {
  for (const { experts, used } of ROUTERS) {
    const layers = 6;
    const routing = drawnRouting(usualRouting({ layers, experts, used }), { tokens: 2000, layers, used, seed: 3 });
    const sets = measuredWorkingSets(routing, 64);
    for (const tokens of [2, 8, 32]) {
      const drawn = sets.reduce((sum, { different }) => sum + different(tokens), 0) / layers;
      const closed = usedExperts({ experts, used }, tokens, 'text');
      assert.ok(Math.abs(closed / drawn - 1) < 0.06, `${closed} and ${drawn} of ${tokens} tokens`);
    }
  }
});

test('a part of a token between two whole numbers counts in proportion', () => {
  const [router] = ROUTERS;
  const [low, high] = [usedExperts(router, 4, 'texts'), usedExperts(router, 5, 'texts')];
  assert.ok(Math.abs(usedExperts(router, 4.25, 'texts') - (0.75 * low + 0.25 * high)) < 1e-9);
});

test('bytes that are read: all that is always used, and the union of experts', () => {
  const { layer } = createNamedModel(loadCatalogue(), 'gpt-oss-20b');
  const [routed] = layer.routed;
  if (routed === undefined) throw new Error('no experts');
  const read = layer.bytes - routed.bytes + (routed.bytes * usedExperts(routed, 16, 'texts')) / routed.experts;
  assert.ok(Math.abs(readTogether(layer, 16, 'texts') / read - 1) < 1e-12);
});

test.run();
