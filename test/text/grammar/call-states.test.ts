import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createGrammars, type HeldForm } from '../../../engine/text/grammar/grammars.ts';
import type { TextForm } from '../../../engine/text/grammar/text-form.ts';
import { accepts, BYTES, END } from './held.ts';

const grammars = createGrammars({ size: END + 1, bytesOf: BYTES.bytesOf, stops: new Set([END]) });
const of = (form: TextForm): Promise<HeldForm> => grammars.of(form, new AbortController().signal);
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

test('required calls, with tags', async () => {
  const grammar = await of({ calls });
  for (const text of [dice, now, `${dice}\n${now}`]) assert.ok(accepts(grammar, text), text);
  for (const text of ['', 'Hi', `Hi ${now}`, now.replace('now', 'dice'), dice.replace('2', '"2"'), `${now}.`])
    assert.not(accepts(grammar, text), text);
  assert.not(accepts(await of({ calls: { ...calls, several: false } }), `${dice}\n${now}`));
});

test('calls or a text: an object that follows a tag is a call', async () => {
  const grammar = await of({ calls: { ...calls, isRequired: false } });
  const mentions = ['<tool_call>', 'The `<tool_call>` tag', `<tool_call> <tool_call>x ${now}`];
  for (const text of ['', 'Hi \u00e9', 'a <tool_cal <<tool_calx', `Well. ${dice}`, now, ...mentions])
    assert.ok(accepts(grammar, text), text);
  for (const text of [`Hi <${now.slice(0, -1)}`, '<tool_call>\n{}', 'x<tool_call>{"name":"other"', `${now} and more`])
    assert.not(accepts(grammar, text), text);
});

test('thoughts come before what is held, and are free', async () => {
  const marks = { begin: '<think>', end: '</think>', leads: [] };
  const schema = { type: 'integer' };
  const before = await of({ schema, reasoning: { ...marks, isOpened: false } });
  for (const text of ['5', '<think>\nAbout {"five"}.\n</think>\n\n5']) assert.ok(accepts(before, text), text);
  for (const text of ['x', '<think>5', '<think>x</think>y']) assert.not(accepts(before, text), text);
  const within = await of({ schema, reasoning: { ...marks, isOpened: true } });
  assert.ok(accepts(within, 'Hm </thin </think>5'));
  assert.not(accepts(within, '5'));
  const free = await of({ calls: { ...calls, isRequired: false }, reasoning: { ...marks, isOpened: true } });
  for (const text of ['a <tool_call>{"x": no}</think>', `b</think>${now}`]) assert.ok(accepts(free, text), text);
  assert.not(accepts(free, 'a</think><tool_call>{"x"'));
});

test('calls without tags, together with a schema', async () => {
  const bare = { ...calls, form: { kind: 'bare', key: 'parameters' } } as const;
  assert.ok(accepts(await of({ calls: bare }), '{"name": "now", "parameters": {}}'));
  const either = await of({ schema: { type: 'integer' }, calls: { ...bare, isRequired: false } });
  for (const text of ['5', ' {"name":"dice","parameters":{"count":1}}']) assert.ok(accepts(either, text), text);
  assert.not(accepts(either, 'Hi'));
});

test.run();
