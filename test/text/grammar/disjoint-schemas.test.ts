import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { areDisjoint } from '../../../engine/text/grammar/disjoint-schemas.ts';

const kind = (value: unknown, ...others: string[]) => ({
  ...{ type: 'object', required: ['kind', ...others] },
  properties: { kind: { const: value }, ...Object.fromEntries(others.map((name) => [name, { enum: [1, 2] }])) },
});

test('schemas are disjoint by types, constants, and constants of a property that all require', () => {
  assert.ok(areDisjoint([{ type: 'string' }, { type: ['null', 'integer'] }, { type: 'object' }]));
  assert.ok(areDisjoint([{ const: 'a' }, { enum: ['b', { x: 1, y: 2 }] }, { const: null }]));
  assert.ok(areDisjoint([kind('a'), kind('b', 'size'), kind(3)]));
  const once = { type: 'object', properties: { size: { const: 1 } }, required: ['size'] };
  const twice = { type: 'object', properties: { size: { const: 2 } }, required: ['size'] };
  assert.ok(areDisjoint([once, twice]));
  assert.not(areDisjoint([once, { ...twice, required: [] }]));
  assert.not(areDisjoint([{ type: 'integer' }, { type: 'number' }]));
  assert.not(areDisjoint([{ const: { x: 1, y: 2 } }, { enum: [{ y: 2, x: 1 }] }]), 'the order of keys says nothing');
  assert.not(areDisjoint([kind('a'), kind('b'), { anyOf: [] }]));
});

const value = fc.constantFrom(0, 1, 'a', 'b', null, [1], { a: 1, b: 2 }, { b: 2, a: 1 }, true);
const type = fc.constantFrom('string', 'integer', 'number', 'object', ['object', 'null'], ['string', 'boolean']);
const schema = fc.oneof(
  ...[type.map((one) => ({ type: one })), value.map((one) => ({ const: one })), fc.constant({}), fc.constant(true)],
  fc.array(value, { minLength: 1, maxLength: 2 }).map((some) => ({ enum: some })),
  fc.tuple(value, value, fc.subarray(['k', 'j', 'x'])).map(([k, j, required]) => ({
    ...{ type: 'object', properties: { k: { const: k }, j: { enum: [j] } }, required },
  })),
);

test('several schemas are disjoint if every two are', () => {
  fc.assert(
    fc.property(fc.array(schema, { minLength: 2, maxLength: 40 }), (schemas) => {
      const pairs = schemas.flatMap((one, index) => schemas.slice(0, index).map((other) => [one, other]));
      assert.is(
        areDisjoint(schemas),
        pairs.every((pair) => areDisjoint(pair)),
      );
    }),
    { seed: 1, numRuns: 200 },
  );
});

test.run();
