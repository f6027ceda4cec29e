import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  EXPERTS_EVICTIONS,
  EXPERTS_LAYOUTS,
  LOOKAHEADS,
  READ_METHODS,
  USUAL_EXPERTS,
} from '../../engine/experts/experts-policy.ts';
import { POOLS } from '../../engine/experts/replay-routing.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { PREFETCHES, RELEASES } from '../../engine/plan/weights-policy.ts';

/** docs/reference/policies.md, held against the plans that are parsed. */
const [, weightsText = '', expertsText = ''] = readFileSync('docs/reference/policies.md', 'utf8').split(/^## .*$/m);
const rowsOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map(([, ...cells]) => cells);
const [weights, experts] = [rowsOf(weightsText), rowsOf(expertsText)];
const valuesOf = (rows: readonly string[][], field: string): unknown[] =>
  rows.filter(([name]) => name === field).map(([, value]) => value);
const fieldsOf = (rows: readonly string[][]): unknown[] => [...new Set(rows.map(([name]) => name))];

function parsed(policy: object): object {
  const place = { device: 'a', processor: 'cpu' };
  const plan = { rounds: 1, stages: [{ ...place, from: 0, to: 1 }], embedding: place, output: place };
  const text = JSON.stringify({ ...plan, kvCache: 'with-layers', weights: { a: policy } });
  return parsePlan(text, 'plan.json').weights.a as object;
}

test('every value of the parser is listed, and no other', () => {
  assert.equal(valuesOf(weights, 'prefetch'), [...PREFETCHES, 'fit']);
  assert.equal(valuesOf(weights, 'release'), [...RELEASES]);
  assert.equal(valuesOf(experts, 'pool'), [...POOLS]);
  assert.equal(valuesOf(experts, 'eviction'), [...EXPERTS_EVICTIONS]);
  assert.equal(valuesOf(experts, 'method'), [...READ_METHODS]);
  assert.equal(valuesOf(experts, 'layout'), [...EXPERTS_LAYOUTS]);
  assert.equal(valuesOf(experts, 'lookahead'), [...LOOKAHEADS]);
});

test('every field of the parser is listed, and its documented values and defaults are taken', () => {
  const needed = {
    slots: 'fit',
    pool: 'layer',
    eviction: 'lru',
    method: 'direct',
    depth: 4,
    lookahead: { kind: 'none' },
  };
  const whole = parsed({ prefetch: 'none', release: 'pinned', pinned: 'fit', experts: needed });
  assert.equal(Object.keys(whole), fieldsOf(weights));
  assert.equal(whole, {
    ...{ prefetch: 'none', release: 'pinned', pinned: 'fit' },
    experts: { ...needed, layout: 'file', hitsFirst: false },
  });
  assert.equal(Object.keys(USUAL_EXPERTS), fieldsOf(experts));
  assert.equal(parsed({ prefetch: 'none' }), { prefetch: 'none', release: 'none' });
  for (const prefetch of valuesOf(weights, 'prefetch'))
    assert.equal(parsed({ prefetch }), { prefetch, release: 'none' });
  assert.throws(() => parsed({ prefetch: 'none', release: 'pinned' }), /pinned/);
  assert.throws(() => parsed({ prefetch: 'none', release: 'drop', pinned: 1 }), /pinned/);
});

test('the usual values are those of the policy where none is asked for', () => {
  const usual = experts
    .filter(([, , mark]) => mark !== '')
    .map(([field, value, mark]) => [field, mark === 'yes' ? value : mark]);
  const said = Object.entries(USUAL_EXPERTS).map(([field, value]) => [
    field,
    typeof value === 'object' ? value.kind : String(value),
  ]);
  assert.equal(usual, said);
});

test.run();
