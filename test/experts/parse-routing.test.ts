import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseRoutings } from '../../engine/experts/recorded/parse-routings.ts';
import { replayRouting } from '../../engine/experts/replay-routing.ts';
import { expertsOf, overlapAt, type Routing } from '../../engine/experts/routing.ts';
import { measuredWorkingSets } from '../../engine/experts/working-set.ts';
import { testIf } from '../support/needs.ts';
import { SHARED } from '../support/shared-folder.ts';

const RECORDED = join(SHARED, 'routing/routing-traces.json');
const small = { layers: 2, experts: 4, topk: 2, promptTokens: 1, decodeTokens: 2 };
const ids = Buffer.from([0, 1, 2, 3, 1, 2, 3, 0, 2, 1, 0, 3]).toString('base64');
const file = (record: object): string => JSON.stringify({ traces: { small: record } });

test('a record gives the experts of its decoded tokens', () => {
  const routing = parseRoutings(file({ ...small, ids }), 'r.json').get('small') as Routing;
  assert.is(routing.tokens, 2);
  assert.equal([...expertsOf(routing, 0, 1)], [3, 0]);
  assert.equal([...expertsOf(routing, 1, 0)], [2, 1]);
});

test('what is wrong with a record is said', () => {
  const wrong: readonly [text: string, message: RegExp][] = [
    ['{', /^r\.json: line 1, column 2: is not valid JSON/],
    ['{}', /^r\.json: is no record of routings: traces is missing/],
    [file({ ...small, ids: '' }), /^r\.json: small: has 0 experts; 3 tokens in 2 layers have 12$/],
    [file({ ...small, ids: '?' }), /^r\.json: is no record of routings: traces\.small\.ids /],
    [file({ ...small, layers: 0, ids }), /^r\.json: is no record of routings: traces\.small\.layers must be /],
    [file({ ...small, experts: 3, ids }), /^r\.json: small: has expert 3 of 3$/],
  ];
  for (const [text, message] of wrong) assert.throws(() => parseRoutings(text, 'r.json'), message);
});

/**
 * Found by another program: hits (%) of LRU, LFU and Belady with 8 to 64 slots and of one LRU for all layers, different
 * experts in 2 to 32 tokens, and those of the token before (%).
 */
const PUBLISHED = {
  'qwen3-30b-a3b': {
    lru: [42.7, 51.8, 60.7, 72.2, 80.5, 88.9, 91.2],
    lfu: [46, 56.8, 64.4, 75, 81.9, 89.4, 91.3],
    belady: [58.7, 69.5, 76.3, 84.2, 88.3, 91.3, 91.6],
    pool: [0, 0, 27.5, 37.7, 47.6, 71.4],
    different: [9.7, 15.6, 23.6, 42.5],
    overlap: 38,
  },
  'olmoe-1b-7b': {
    lru: [43.4, 52.2, 59.7, 69.7, 79.4, 93.3, 97.5],
    lfu: [43.4, 53.5, 59.9, 71.2, 80.6, 93.4, 97.5],
    belady: [56.3, 67.5, 74.7, 84.2, 90.2, 96.2, 97.5],
    pool: [0, 0, 31.9, 43.5, 56.5, 78.4],
    different: [12.5, 19.4, 29.1, 48],
    overlap: 43.5,
  },
} as const;

testIf(
  existsSync(RECORDED),
  'no recorded routings here',
  'caches hit of recorded routings what another program found',
  () => {
    const routings = parseRoutings(readFileSync(RECORDED, 'utf8'), RECORDED);
    for (const [name, published] of Object.entries(PUBLISHED)) {
      const routing = routings.get(name) as Routing;
      const { layers, used } = routing;
      const common = { routing, seed: 1, warmUp: 0 };
      const near = (found: number, printed: number, digits: number, what: string): void =>
        assert.ok(Math.abs(found - printed) <= 0.51 * 10 ** -digits, `${name}, ${what}: ${found}, ${printed}`);
      for (const [index, slots] of [8, 12, 16, 24, 32, 48, 64].entries())
        for (const kind of ['lru', 'lfu', 'belady'] as const) {
          const { hits, needs } = replayRouting({
            ...{ ...common, pool: 'layer', slots, sparesNeeded: true },
            eviction: (all) => (kind === 'belady' ? { kind, needs: all } : { kind }),
          });
          near((100 * hits) / needs, published[kind][index] as number, 1, `${kind} at ${slots}`);
        }
      for (const [index, share] of [0.5, 0.9, 1, 1.25, 2, 4].entries()) {
        const slots = Math.floor(layers * used * share);
        const { hits, needs } = replayRouting({
          ...{ ...common, pool: 'all', slots, sparesNeeded: false },
          eviction: () => ({ kind: 'lru' }),
        });
        near((100 * hits) / needs, published.pool[index] as number, 1, `a pool of ${share} tokens`);
      }
      const sets = measuredWorkingSets(routing, 32);
      for (const [index, tokens] of [2, 4, 8, 32].entries()) {
        const mean = sets.reduce((sum, set) => sum + set.different(tokens), 0) / layers;
        near(mean, published.different[index] as number, 1, `different in ${tokens} tokens`);
      }
      near(100 * overlapAt(routing, 1), published.overlap, 1, 'overlap');
    }
  },
);

test.run();
