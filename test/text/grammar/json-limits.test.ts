import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAutomaton } from '../../../engine/text/grammar/automaton.ts';
import { createGrammar } from '../../../engine/text/grammar/grammar.ts';
import { createJsonRules } from '../../../engine/text/grammar/json-rules.ts';
import { schemaStates } from '../../../engine/text/grammar/json-schema.ts';
import { atOnce } from '../../../engine/text/slices.ts';
import { accepts, BYTES, grammarOf } from './held.ts';

test('parts that can not be held are left out and named, where that is allowed', () => {
  const ignored: string[] = [];
  const automaton = createAutomaton();
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string', pattern: '\\bx' },
      b: { $ref: 'https://example.com' },
      c: { type: 'integer', if: {} },
    },
    required: ['a', 'b', 'c'],
    unknownKey: 1,
  };
  const entry = schemaStates(automaton, createJsonRules(automaton), schema, automaton.end(), ({ path }) =>
    ignored.push(path),
  );
  const grammar = atOnce(createGrammar(entry, BYTES));
  assert.equal(ignored.sort(), ['properties.a.pattern', 'properties.b.$ref', 'properties.c.if', 'unknownKey']);
  assert.ok(accepts(grammar, '{"a":"x","b":[null],"c":1}'));
  assert.not(accepts(grammar, '{"a":1,"b":[null],"c":1}'));
});

test('once patterns took too much work the others are left out, and formats and numbers are still held', () => {
  const ignored: string[] = [];
  const automaton = createAutomaton();
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string', pattern: '^b$' },
      b: { type: 'string', not: { enum: Array.from({ length: 9000 }, (_, n) => `v${n}`) } },
      c: { type: 'string', format: 'date' },
      d: { type: 'integer', minimum: 5 },
    },
    required: ['a', 'b', 'c', 'd'],
  };
  const entry = schemaStates(automaton, createJsonRules(automaton), schema, automaton.end(), ({ path }) =>
    ignored.push(path),
  );
  const grammar = atOnce(createGrammar(entry, BYTES));
  assert.equal(ignored.sort(), ['properties.a.pattern', 'properties.b.not']);
  assert.ok(accepts(grammar, '{"a":"x","b":"x","c":"2024-02-29","d":5}'));
  assert.not(accepts(grammar, '{"a":"x","b":"x","c":"2023-02-29","d":5}'));
  assert.not(accepts(grammar, '{"a":"x","b":"x","c":"2024-02-29","d":4}'));
});

test('lengths of thousands take no states, and are kept', () => {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`p${index}`, { type: 'string', maxLength: 2000 }]),
    ),
  };
  const grammar = grammarOf(schema);
  assert.ok(accepts(grammar, `{"p3":"${'a'.repeat(2000)}","p11":""}`));
  assert.not(accepts(grammar, `{"p3":"${'a'.repeat(2001)}"}`));
  assert.ok(accepts(grammarOf({ type: 'string', minLength: 300, maxLength: 100_000 }), `"${'é'.repeat(301)}"`));
});

test('hostile schemas are refused in a moment', () => {
  let deep: object = {};
  for (let level = 0; level < 20_000; level++) deep = { type: 'array', items: deep };
  const wide = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ type: 'string', minLength: index % 50 }));
  const chain = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [
      `d${index}`,
      { type: 'array', items: { $ref: `#/$defs/d${index + 1}` } },
    ]),
  );
  const hostile: readonly unknown[] = [
    deep,
    { type: 'array', maxItems: 1e9 },
    { type: 'array', minItems: 1e6, items: { type: 'string', minLength: 1e6 } },
    { enum: ['x'.repeat(2 ** 17)] },
    { $defs: { ...chain, d1000: {} }, $ref: '#/$defs/d0' },
    { anyOf: wide(3000) },
  ];
  for (const [index, schema] of hostile.entries()) {
    const start = process.cpuUsage();
    assert.throws(() => accepts(grammarOf(schema), '"aaaa'), /too many|more than|deeper|at most/, `${index}`);
    const { user, system } = process.cpuUsage(start);
    assert.ok(user + system < 2e6, `${index}: ${(user + system) / 1e6} s of processor time`);
  }
});

test.run();
