import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { TEXT_FORMATS } from '../../../engine/text/grammar/patterns/formats.ts';
import { SchemaError } from '../../../engine/text/grammar/schema-error.ts';
import { accepts, grammarOf, randomText, vocabularyOf } from './held.ts';

const person = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 4 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name'],
  additionalProperties: false,
};
const tree = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { leaf: { type: 'boolean' }, below: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['below'],
    },
  },
};

const CASES: readonly (readonly [schema: unknown, accepted: readonly string[], refused: readonly string[]])[] = [
  [
    person,
    ['{"name":"Ada"}', '{ "name": "Ada", "age": 36 }', '{\n  "name": "",\n  "age": 120\n}', '{"name":"\\u00e9\\n"}'],
    [
      '{}',
      '{"age":3}',
      '{"name":"Grace"}',
      '{"name":"a","age":121}',
      '{"name":"a",}',
      '{"age":1,"name":"a"}',
      '{"name":"\ud83d\ude00"}',
    ],
  ],
  [
    true,
    ['1', '-0.5e+10', '"\ud83d\ude00"', '"\\ud83d\\ude00"', '[[],{"a":{"b":null}}]'],
    ['', '01', '1.', '"\\ud83d"', '"\n"', '[1,]', '{a:1}'],
  ],
  [{ type: 'string', minLength: 2 }, ['"ab"', '"\\"\\""'], ['"a"', '""']],
  [{ type: ['integer', 'null'] }, ['0', '-7', 'null'], ['1.5', '"1"', 'true']],
  [{ type: 'integer', exclusiveMinimum: -3, maximum: 1005 }, ['-2', '0', '99', '1005'], ['-3', '-10', '1006', '2000']],
  [{ type: 'number', minimum: 0, maximum: 1 }, ['0', '1', '0.5', '0.000001', '1.0'], ['-0.5', '1.5', '2', '1e1', '-0']],
  [
    { type: 'number', minimum: 36.5, maximum: 37.5 },
    ['36.5', '37', '37.50', '36.999999'],
    ['36', '36.49', '37.500001', '38'],
  ],
  [
    { type: 'number', exclusiveMinimum: -0.5, exclusiveMaximum: 0.25 },
    ['-0.499999', '-0.1', '0', '0.249999'],
    ['-0.5', '0.25', '-0', '1'],
  ],
  [
    { type: 'number', minimum: 1e12, exclusiveMaximum: 1e12 + 1 },
    ['1000000000000.5'],
    ['1000000000001', '1000000000000.999999', '999999999999.9'],
  ],
  [
    { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 2 },
    ['[true]', '[ true , false ]'],
    ['[]', '[true,true,true]', '[1]'],
  ],
  [
    { type: 'array', prefixItems: [{ type: 'null' }], items: { const: 2 } },
    ['[null]', '[null,2,2]'],
    ['[]', '[2]', '[null,null]'],
  ],
  [{ enum: ['a', 'ab', { x: [1] }, null] }, ['"a"', '"ab"', '{"x":[1]}', 'null'], ['"b"', '"a', '{}']],
  [{ type: 'string', enum: ['a', 5] }, ['"a"'], ['5']],
  [{ enum: ['a', 'b', 5], not: { const: 'a' } }, ['"b"', '5'], ['"a"']],
  [
    { enum: ['a', 5, { x: 1, y: 2 }], not: { enum: [{ y: 2, x: 1 }, 5] } },
    ['"a"'],
    ['5', '{"x":1,"y":2}', '{"y":2,"x":1}'],
  ],
  [{ enum: ['a', 5, null], not: { type: ['number', 'null'] } }, ['"a"'], ['5', 'null']],
  [{ enum: ['a', 5], nullable: true, not: { enum: [5, null] } }, ['"a"'], ['5', 'null']],
  [tree, ['{"below":[]}', '{"leaf":true,"below":[{"below":[{"below":[]}]}]}'], ['{}', '{"below":[1]}']],
  [{ anyOf: [{ type: 'string' }, { type: 'object' }] }, ['"x"', '{}', '{"a":[1]}'], ['1', '[]']],
  [
    { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: { type: 'boolean' } },
    ['{}', '{"a":1}', '{"a":1,"b":true,"":false}', '{"ab":true}', '{"b":true}'],
    ['{"a":true}', '{"b":true,"a":1}', '{"b":1}', '{"\\u0061":true}'],
  ],
  [{ type: 'object', required: ['a'] }, ['{"a":[]}'], ['{}', '{"b":1}']],
  [{ type: 'string', pattern: '^[a-c]{2,3}$' }, ['"ab"', '"abc"'], ['"a"', '"abca"', '"ad"', '""']],
  [{ type: 'string', pattern: 'b+' }, ['"b"', '"abba"', '"b\\n"'], ['"ac"', '""']],
  [{ type: 'string', pattern: '^(?!.*\\.\\.)[a.]+$' }, ['"a.a"', '"."'], ['"a..a"', '""']],
  [{ type: 'string', pattern: '^\\p{Lu}["\\\\]$' }, ['"É\\""', '"A\\\\"'], ['"a\\""', '"A"']],
  [
    { type: 'string', pattern: '^a|b$', minLength: 2, maxLength: 3 },
    ['"ax"', '"xb"', '"xxb"'],
    ['"a"', '"xx"', '"xxxb"'],
  ],
  [{ type: 'string', format: 'date' }, ['"2024-02-29"', '"1999-12-31"'], ['"2023-02-29"', '"1999-13-01"', '"x"']],
  [
    { type: 'string', format: 'uuid', pattern: '^a' },
    ['"a1b2c3d4-0000-1111-2222-333344445555"'],
    ['"b1b2c3d4-0000-1111-2222-333344445555"'],
  ],
  [{ type: 'string', not: { const: 'no' } }, ['"yes"', '"n"', '"noo"', '""'], ['"no"']],
  [{ type: 'string', maxLength: 100000 }, ['"abc"', '""'], []],
  [{ type: 'string', nullable: true }, ['"a"', 'null'], ['1']],
  [{ not: { type: ['number', 'string'] } }, ['null', '[]', '{}'], ['1', '"a"', '1.5']],
  [
    { type: 'integer', multipleOf: 7, minimum: -20, maximum: 30 },
    ['-14', '0', '7', '28'],
    ['-21', '1', '35', '8', '-0'],
  ],
  [{ type: 'integer', multipleOf: 5 }, ['5', '-10', '1000'], ['1', '-11']],
  [{ type: 'number', multipleOf: 0.25, maximum: 1 }, ['0.25', '1', '-0.5', '0.75'], ['0.2', '1.25', '0.3']],
  [
    { type: 'object', patternProperties: { '^x': { type: 'integer' } }, additionalProperties: false },
    ['{}', '{"x":1}', '{"xy":1,"x":2}'],
    ['{"y":1}', '{"x":"a"}'],
  ],
  [
    { type: 'object', propertyNames: { pattern: '^[ab]$' }, additionalProperties: { type: 'null' } },
    ['{}', '{"a":null,"b":null}'],
    ['{"c":null}', '{"ab":null}'],
  ],
  [
    {
      ...{ type: 'object', propertyNames: { enum: ['a', 'b', 'c'] }, additionalProperties: { type: 'null' } },
      ...{ required: ['b'], minProperties: 2 },
    },
    ['{"b":null,"a":null}', '{"b":null,"c":null}', '{"b":null,"a":null,"c":null}'],
    ['{"b":null}', '{"b":null,"b":null}', '{"a":null,"c":null}', '{"b":null,"d":null}'],
  ],
  [
    {
      type: 'object',
      properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } },
      minProperties: 2,
      maxProperties: 2,
    },
    ['{"a":1,"b":2}', '{"a":1,"c":3}', '{"b":2,"c":3}'],
    ['{}', '{"a":1}', '{"a":1,"b":2,"c":3}'],
  ],
  [
    { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{}', '{"a":1,"b":2,"c":3}'],
  ],
  [{ allOf: [{ type: 'string' }, { minLength: 3 }] }, ['"abc"'], ['"ab"', '1']],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }], minLength: 3 }, ['"abc"', 'null'], ['"ab"']],
  [
    { $ref: '#/$defs/a', required: ['b'], $defs: { a: { type: 'object', properties: { b: { type: 'null' } } } } },
    ['{"b":null}'],
    ['{}'],
  ],
];

for (const [schema, accepted, refused] of CASES) {
  test(`${JSON.stringify(schema).slice(0, 90)}`, () => {
    const grammar = grammarOf(schema);
    for (const text of accepted) assert.ok(accepts(grammar, text), text);
    for (const text of refused) assert.not(accepts(grammar, text), text);
  });
}

/** Schemas of everything that is supported. */
const schemas = fc.letrec<{ schema: object }>((tie) => {
  const few = fc.integer({ min: 0, max: 3 });
  const text = fc.record({ type: fc.constant('string'), minLength: few, maxLength: few.map((more) => 3 + more) });
  const matched = fc.record({
    type: fc.constant('string'),
    pattern: fc.constantFrom('^a', '[b-é]+$', '"', '^(ab|\\d)*$'),
  });
  const open = fc.record({ type: fc.constant('string'), minLength: few }, { requiredKeys: ['type'] });
  const number = fc
    .tuple(fc.constantFrom('integer', 'number'), fc.integer({ min: -99, max: 99 }), fc.integer({ min: 1, max: 500 }))
    .map(([type, minimum, more]) => ({ type, minimum, exclusiveMaximum: minimum + more }));
  const free = fc.constantFrom(
    { type: 'integer' },
    { type: 'number' },
    { type: ['null', 'boolean'] },
    {},
    { type: 'object' },
  );
  const listed = fc
    .array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 3 })
    .map((values) => ({ enum: values }));
  const array = fc.record(
    { type: fc.constant('array'), items: tie('schema'), minItems: few, maxItems: few.map((more) => 3 + more) },
    { requiredKeys: ['type'] },
  );
  const tuple = fc.record({
    type: fc.constant('array'),
    prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
    items: fc.oneof(fc.constant(false), tie('schema')),
  });
  const object = fc
    .tuple(
      fc.dictionary(fc.constantFrom('a', 'ab', 'é"', '', 'constructor', '\n'), tie('schema'), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
      fc.array(fc.constantFrom('a', 'ab', 'z'), { maxLength: 2 }),
      fc.option(fc.oneof(fc.constant(true), tie('schema')), { nil: undefined }),
    )
    .map(([properties, required, additionalProperties]) => ({
      ...{ type: 'object', properties, required: [...new Set(required)] },
      ...(additionalProperties === undefined ? {} : { additionalProperties }),
    }));
  const union = fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) });
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      matched,
      open,
      number,
      free,
      listed,
      array,
      tuple,
      object,
      union,
    ) as fc.Arbitrary<object>,
  };
}).schema;

test('whatever is written satisfies its schema, and nothing leads into a dead end', () => {
  const ajv = new Ajv2020({ strict: false, ownProperties: true });
  const vocabulary = vocabularyOf(['{"', '":', '", "', '"}', 'true', '[]', ' a', 'é"', '12', '.5', ': {}', '\\n']);
  fc.assert(
    fc.property(schemas, fc.integer({ min: 0, max: 1e6 }), (schema, seed) => {
      const { next } = randomStream(seed, 'text');
      const text = randomText(grammarOf(schema, vocabulary), vocabulary, next, 30);
      fc.pre(text !== undefined);
      const validate = ajv.compile(schema);
      assert.ok(validate(JSON.parse(text as string)), `${text}: ${ajv.errorsText(validate.errors)}`);
    }),
    { numRuns: 150, maxSkipsPerRun: 1 },
  );
});

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

const REFUSED: readonly (readonly [schema: unknown, message: RegExp])[] = [
  [
    { type: 'object', properties: { a: { not: {} } } },
    /^properties\.a\.not: is supported with type, enum or const alone/,
  ],
  [{ type: 'string', pattern: '(a)\\1' }, /^pattern: has \\1, which is not supported; leave it out$/],
  [{ type: 'string', pattern: '(?<=a)b' }, /^pattern: looks behind/],
  [{ type: 'string', pattern: '[' }, /^pattern: has a class without end/],
  [{ type: 'string', pattern: 'a'.repeat(4097) }, /^pattern: has more than 4096 characters/],
  [
    { type: 'string', pattern: `${'('.repeat(99)}${')'.repeat(99)}` },
    /^pattern: has groups nested deeper than 64 levels/,
  ],
  [{ type: 'string', pattern: '(a|b)*a(a|b){14}$' }, /^pattern: leaves no text, or too many ways to write one/],
  [
    { type: 'object', patternProperties: Object.fromEntries(numbers(1000).map((n) => [`^a${n}$`, true])) },
    /^patternProperties\.\^a\d+\$: takes too many steps/,
  ],
  [
    { type: 'string', not: { enum: numbers(9000).map((n) => `v${n}`) } },
    /^not: takes too many steps, which is not supported; leave it out$/,
  ],
  [{ type: 'array', items: { format: 'iban' } }, /^items\.format: "iban" is not supported; supported: date, time/],
  [{ type: 'string', format: 'uuid', maxLength: 3 }, /^maxLength: leaves no text together with the other keys/],
  [{ type: 'number', multipleOf: 0.01 }, /^multipleOf: must be a whole number up to 1000, or such a part of 1/],
  [
    { type: 'object', additionalProperties: true, minProperties: 2 },
    /^minProperties: counts names that may be equal; list them in properties/,
  ],
  [{ type: 'array', uniqueItems: true }, /^uniqueItems: is not supported/],
  [{ requierd: ['a'] }, /^requierd: unknown key of JSON schema; did you mean "required"\?/],
  [{ type: 'text' }, /^type: must be one or a list of object, array, string/],
  [{ allOf: [{ type: 'string', pattern: 'a' }, { pattern: 'b' }] }, /^allOf: has several schemas/],
  [
    { oneOf: [{ type: 'integer' }, { type: 'number' }] },
    /^oneOf: has schemas that one value may match twice; use anyOf/,
  ],
  [{ $ref: 'https://example.com/schema' }, /^\$ref: must name a part of the same schema/],
  [{ $ref: '#/$defs/none' }, /^\$ref: "#\/\$defs\/none" is not a part of the schema/],
  [
    { $defs: { a: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' },
    /leads to itself without a value between/,
  ],
  [{ type: 'string', minLength: 5, maxLength: 4 }, /^minLength: is more than maxLength/],
  [{ type: 'number', minimum: 1.1e-7, maximum: 9e-7 }, /^minimum: leaves no number/],
  [{ type: 'integer', minimum: 0.1, maximum: 0.9 }, /^minimum: leaves no integer/],
  [{ type: 'object', required: ['a'], additionalProperties: false }, /^required: has "a", which properties lacks/],
  [{ type: 'array', items: [{}] }, /^items: must be a schema; a list of them is prefixItems/],
  [false, /must be a schema/],
];

for (const [schema, message] of REFUSED) {
  test(`refused: ${JSON.stringify(schema).slice(0, 80)}`, () => {
    assert.throws(
      () => grammarOf(schema),
      (error: unknown) => error instanceof SchemaError && message.test(error.message.replace(/^: /, '')),
    );
  });
}

test('what is written of a format has it, and of a pattern matches it', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  const vocabulary = vocabularyOf(['ab', '://', '12', '-0', '.c', '@x', '::', '/a']);
  const patterns = [
    '^a+b?$',
    'x.y',
    '^(?:[^@]|ab)+@\\w{2,}$',
    '^(?=.*\\d)\\S{3,8}$',
    '[\\u0041-\\u005a]$',
    '^$|^\\d{1,3}(,\\d{3})*$',
  ];
  const schemas = [
    ...Object.keys(TEXT_FORMATS).map((format) => ({ format })),
    ...patterns.map((pattern) => ({ pattern })),
  ];
  for (const [seed, more] of schemas.entries()) {
    const schema = { type: 'string', ...more };
    const validate = ajv.compile(schema);
    const grammar = grammarOf(schema, vocabulary);
    for (let draw = 0; draw < 8; draw++) {
      const text = randomText(grammar, vocabulary, randomStream(100 * seed + draw, 'text').next, 3 * draw);
      if (text !== undefined) assert.ok(validate(JSON.parse(text)), `${JSON.stringify(more)}: ${text}`);
    }
  }
});

test('values of an enum are written as they are, also those with which others begin, and hundreds of them', () => {
  const grammar = grammarOf({ enum: ['a', 'ab', 'ba', 1, 12, 'a', null] });
  for (const text of ['"a"', '"ab"', '"ba"', '1', '12', 'null']) assert.ok(accepts(grammar, text), text);
  for (const text of ['"b"', '"abb"', '2', '123', '"', 'n']) assert.not(accepts(grammar, text), text);
  const many = Array.from({ length: 5000 }, (_, index) => `value ${index}`);
  const grammarOfMany = grammarOf({ enum: many });
  assert.ok(accepts(grammarOfMany, '"value 4999"'));
  assert.not(accepts(grammarOfMany, '"value 5000"'));
});

test.run();
