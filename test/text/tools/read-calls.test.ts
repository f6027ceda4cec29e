import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type CallReading, createCallReader } from '../../../engine/text/tools/read-calls.ts';

const reading = (kind: 'tagged' | 'bare', isRequired = false): CallReading => ({
  ...{ form: { kind }, names: ['f', 'g'], isRequired },
});

/** The text and the calls of pieces. */
function read(how: CallReading | undefined, pieces: readonly string[]) {
  const reader = createCallReader(how);
  const parts = [...pieces.map((piece) => reader.add(piece)), reader.finish()];
  const calls = parts.flatMap(({ calls: own }) =>
    own.flatMap((part) => (part.kind === 'end' ? [`${part.call.name}${part.call.arguments}`] : [])),
  );
  return { text: parts.map(({ text }) => text).join(''), calls };
}

const CASES: readonly (readonly [
  how: CallReading | undefined,
  text: string,
  shown: string,
  calls: readonly string[],
])[] = [
  [
    undefined,
    '<tool_call>{"name":"f","arguments":{}}</tool_call>',
    '<tool_call>{"name":"f","arguments":{}}</tool_call>',
    [],
  ],
  [reading('tagged'), 'a < b <tool', 'a < b <tool', []],
  [
    reading('tagged'),
    '<think>\nPerhaps <tool_call>{"name":"f","arguments":{}}</tool_call>? No.\n</think>\n\nFour.',
    'Four.',
    [],
  ],
  [reading('tagged'), '<think>So <tool_call></think><tool_call>{"name":"f","arguments":{}}</tool_call>', '', ['f{}']],
  [reading('bare'), '<think>\n{"name":"f"}\n</think>\n{"name":"f","parameters":{}}', '', ['f{}']],
  [
    reading('tagged'),
    'Write <tool_call> and then a call, `<tool_call>`, as I do: <tool_call>{"name":"f","arguments":{}}</tool_call>',
    'Write <tool_call> and then a call, `<tool_call>`, as I do: ',
    ['f{}'],
  ],
  [reading('tagged'), '<tool_call>{"name":"f","arguments":{"a":"}"}}', '', ['f{"a":"}"}']],
  [reading('tagged'), '<tool_call>{"name":"f","arguments":{"a":"}"}', '', []],
  [reading('tagged'), '<tool_call>{} is how it begins.', '<tool_call>{} is how it begins.', []],
  [
    reading('tagged'),
    'Well.<tool_call>\n{"name": "f", "arguments": {"a": [1]}}\n</tool_call>',
    'Well.',
    ['f{"a":[1]}'],
  ],
  [
    reading('tagged'),
    '<tool_call>{"name":"f","arguments":{}}</tool_call>\n<tool_call>{"name":"g","arguments":{"b":"</tool>"}}</tool_call>',
    '',
    ['f{}', 'g{"b":"</tool>"}'],
  ],
  [
    reading('tagged'),
    '<tool_call>{"name":"h","arguments":{}}</tool_call>.',
    '<tool_call>{"name":"h","arguments":{}}</tool_call>.',
    [],
  ],
  [reading('tagged'), 'So <tool_call>{"name":"f","argu', 'So ', []],
  [reading('bare'), '{"name": "f", "parameters": {"x": 1}}', '', ['f{"x":1}']],
  [reading('bare'), ' [{"name":"f","arguments":{}},{"name":"g","arguments":{}}]', '', ['f{}', 'g{}']],
  [reading('bare'), '{"x": 1} is JSON', '{"x": 1} is JSON', []],
  [reading('bare'), ' No {"name":"f","parameters":{}}', ' No {"name":"f","parameters":{}}', []],
  [reading('bare', true), '{"name":"f","par', '', []],
  [
    reading('bare'),
    '[TOOL_CALLS] [{"name": "f", "arguments": {"a": "[TOOL_CALLS]"}, "id": "abc123def"}]',
    '',
    ['f{"a":"[TOOL_CALLS]"}'],
  ],
  [
    reading('bare'),
    '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}, "id": "abc123def"}, {"name": "g", "arguments": {}}]',
    '',
    ['f{"a":1}', 'g{}'],
  ],
  [
    reading('bare'),
    '[TOOL_CALLS]f[ARGS]{"a": {"b": 1}}[TOOL_CALLS]g{"c": "}{"}',
    '',
    ['f{"a":{"b":1}}', 'g{"c":"}{"}'],
  ],
  [reading('bare'), '[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{}', '', ['f{}']],
  [reading('bare'), '<|python_tag|>{"name": "f", "parameters": {"x": 1}}', '', ['f{"x":1}']],
  [
    reading('bare'),
    '{"name": "f", "parameters": {"x": ";"}}; {"name": "g", "parameters": {}}',
    '',
    ['f{"x":";"}', 'g{}'],
  ],
  [reading('bare'), '<|tool_call|>[{"name": "f", "arguments": {}}]<|/tool_call|>', '', ['f{}']],
  [reading('bare'), '<|python_tag|>print(1)', '<|python_tag|>print(1)', []],
  [reading('bare'), '<p>Hi</p>', '<p>Hi</p>', []],
  [reading('bare'), '[TOOL_CALLS]h{"a": 1}', '[TOOL_CALLS]h{"a": 1}', []],
];

for (const [how, text, shown, calls] of CASES) {
  test(`${how?.form?.kind ?? 'no tools'}: ${text.slice(0, 60)}`, () => {
    assert.equal(read(how, [text]), { text: shown, calls });
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 6 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
        const found = read(how, pieces);
        assert.equal({ ...found, text: found.text.trim() }, { text: shown.trim(), calls });
      }),
      { numRuns: 30 },
    );
  });
}

const held = (kind: 'tagged' | 'bare', isRequired: boolean): CallReading => ({
  ...reading(kind, isRequired),
  isHeld: true,
});

/** The parts of calls in pieces of one letter, and what a client puts together from them. */
function streamed(how: CallReading, text: string) {
  const reader = createCallReader(how);
  const reads = [...Array.from(text, (letter) => reader.add(letter)), reader.finish()];
  const parts = reads.flatMap(({ calls }) => calls);
  const calls: { readonly name: string; given: string; isWhole: boolean }[] = [];
  for (const part of parts) {
    if (part.kind === 'begin') calls.push({ name: part.name, given: '', isWhole: false });
    const last = calls.at(-1);
    assert.ok(last !== undefined && !last.isWhole);
    if (part.kind === 'more') last.given += part.arguments;
    if (part.kind === 'end') {
      assert.equal([part.call.name, part.call.arguments], [last.name, last.given]);
      last.isWhole = true;
    }
  }
  return {
    text: reads.map((one) => one.text).join(''),
    calls,
    pieces: parts.filter(({ kind }) => kind === 'more').length,
  };
}

test('arguments of held calls come as they are written, without the white space between their signs', () => {
  const written =
    '<tool_call>\n{"name": "f", "arguments": {"a": "</tool_call> }\\" x", "b": [1.50, {}]}}\n</tool_call>';
  for (const isRequired of [true, false]) {
    const { text, calls, pieces } = streamed(
      held('tagged', isRequired),
      `${written}\n${written.replace('"f"', '"g"')}`,
    );
    const given = '{"a":"</tool_call> }\\" x","b":[1.50,{}]}';
    assert.equal(calls, [
      { name: 'f', given, isWhole: true },
      { name: 'g', given, isWhole: true },
    ]);
    assert.is(text, '');
    assert.is(pieces, 2 * given.length);
  }
  const bare = streamed(held('bare', true), ' {"name": "g", "parameters": {"a": {"b": "}"}} }');
  assert.equal(bare.calls, [{ name: 'g', given: '{"a":{"b":"}"}}', isWhole: true }]);
});

test('a held call that is cut has no end; a tag before something else than an object is text', () => {
  const { calls } = streamed(held('tagged', true), '<tool_call>{"name":"f","arguments":{"a":"b');
  assert.equal(calls, [{ name: 'f', given: '{"a":"b', isWhole: false }]);
  assert.equal(streamed(held('tagged', true), '<tool_call>{"name":"f","argum').calls, []);
  const mention = streamed(
    held('tagged', false),
    'Write <tool_call> first: <tool_call>{"name":"f","arguments":{}}</tool_call>',
  );
  assert.is(mention.text, 'Write <tool_call> first: ');
  assert.equal(mention.calls, [{ name: 'f', given: '{}', isWhole: true }]);
  // What isn't held may turn out to be no call, and comes as a whole.
  assert.is(streamed(reading('tagged'), '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>').pieces, 1);
  assert.equal(streamed(held('bare', false), '{"name":"f"} is JSON').calls, []);
});

test.run();
