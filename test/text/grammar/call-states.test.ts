import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createGrammars } from '../../../engine/text/grammar/text-form.ts';
import { accepts, BYTES, END } from './held.ts';

const grammars = createGrammars({ size: END + 1, bytesOf: BYTES.bytesOf, stops: new Set([END]) });
const tools = [
  {
    name: 'dice',
    parameters: {
      type: 'object',
      properties: { count: { $ref: '#/$defs/n' } },
      required: ['count'],
      $defs: { n: { type: 'integer' } },
    },
  },
  { name: 'now', parameters: { type: 'object', properties: {} } },
];
const calls = { tools, form: { kind: 'tagged', key: 'arguments' }, isRequired: true, several: true } as const;
const dice = '<tool_call>\n{"name": "dice", "arguments": {"count": 2}}\n</tool_call>';
const now = '<tool_call>{"name":"now","arguments":{}}</tool_call>';

test('required calls, with tags', () => {
  const grammar = grammars.of({ calls });
  for (const text of [dice, now, `${dice}\n${now}`]) assert.ok(accepts(grammar, text), text);
  for (const text of ['', 'Hi', `Hi ${now}`, now.replace('now', 'dice'), dice.replace('2', '"2"'), `${now}.`])
    assert.not(accepts(grammar, text), text);
  assert.not(accepts(grammars.of({ calls: { ...calls, several: false } }), `${dice}\n${now}`));
});

test('calls or a text: an object that follows a tag is a call', () => {
  const grammar = grammars.of({ calls: { ...calls, isRequired: false } });
  const mentions = ['<tool_call>', 'The `<tool_call>` tag', `<tool_call> <tool_call>x ${now}`];
  for (const text of ['', 'Hi \u00e9', 'a <tool_cal <<tool_calx', `Well. ${dice}`, now, ...mentions])
    assert.ok(accepts(grammar, text), text);
  for (const text of [`Hi <${now.slice(0, -1)}`, '<tool_call>\n{}', 'x<tool_call>{"name":"other"', `${now} and more`])
    assert.not(accepts(grammar, text), text);
});

test('thoughts come before what is held, and are free', () => {
  const marks = { begin: '<think>', end: '</think>', leads: [] };
  const schema = { type: 'integer' };
  const before = grammars.of({ schema, reasoning: { ...marks, isOpened: false } });
  for (const text of ['5', '<think>\nAbout {"five"}.\n</think>\n\n5']) assert.ok(accepts(before, text), text);
  for (const text of ['x', '<think>5', '<think>x</think>y']) assert.not(accepts(before, text), text);
  const within = grammars.of({ schema, reasoning: { ...marks, isOpened: true } });
  assert.ok(accepts(within, 'Hm </thin </think>5'));
  assert.not(accepts(within, '5'));
  const free = grammars.of({ calls: { ...calls, isRequired: false }, reasoning: { ...marks, isOpened: true } });
  for (const text of ['a <tool_call>{"x": no}</think>', `b</think>${now}`]) assert.ok(accepts(free, text), text);
  assert.not(accepts(free, 'a</think><tool_call>{"x"'));
});

test('calls without tags, together with a schema', () => {
  const bare = { ...calls, form: { kind: 'bare', key: 'parameters' } } as const;
  assert.ok(accepts(grammars.of({ calls: bare }), '{"name": "now", "parameters": {}}'));
  const either = grammars.of({ schema: { type: 'integer' }, calls: { ...bare, isRequired: false } });
  for (const text of ['5', ' {"name":"dice","parameters":{"count":1}}']) assert.ok(accepts(either, text), text);
  assert.not(accepts(either, 'Hi'));
});

test.run();
