import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../../engine/text/message.ts';
import { startTemplateProcess } from '../../../engine/text/template-process.ts';
import { callFormOf, type Tool } from '../../../engine/text/tools/tool.ts';
import { templateMessages, templateTools } from '../../../engine/text/tools/tool-messages.ts';
import { TOOL_TEMPLATES } from './tool-templates.ts';

const parameters = {
  type: 'object',
  properties: { count: { type: 'integer', minimum: 1 } },
  required: ['count'],
  additionalProperties: false,
};
const tools: readonly Tool[] = [{ name: 'dice', description: "Rolls it's dice", parameters }];
const messages: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Roll' },
  { role: 'assistant', content: '', calls: [{ id: 'call_1', name: 'dice', arguments: '{"count":1}' }] },
  { role: 'tool', content: '[4]', callId: 'call_1', name: 'dice' },
  { role: 'assistant', content: 'Four.' },
  { role: 'user', content: 'Again' },
];

for (const [family, { source, prompt }] of Object.entries(TOOL_TEMPLATES))
  test(`${family}: tools, a call and its result are written as Python's Jinja writes them`, async () => {
    const values = { messages: templateMessages(messages, tools, callFormOf(source)), tools: templateTools(tools) };
    const special = { add_generation_prompt: true, bos_token: '<s>', eos_token: '</s>' };
    assert.is(await startTemplateProcess().render(source, { ...values, ...special }), prompt);
  });

test('a loop over what is undefined has no turns, and its else; other loops are as they were', async () => {
  const rendered = (source: string): Promise<string> => startTemplateProcess().render(source, { items: [1, 2] });
  assert.is(await rendered('{% for x in nothing %}{{ x }}{% else %}none{% endfor %}'), 'none');
  assert.is(await rendered('{% for x in nothing if x > 1 %}{{ x }}{% endfor %}.'), '.');
  assert.is(await rendered('{% for x in items if x > 1 %}{{ x }}{% endfor %}'), '2');
  assert.is(await rendered('{{ {"a": ["x\'y", none, true, 1.5]} | string }}'), "{'a': [\"x'y\", None, True, 1.5]}");
});

test('ids have nine letters and digits where the template asks for it: the own ones, or some that follow from them', () => {
  const ids = (source: string, id: string): unknown[] =>
    templateMessages(
      [{ role: 'assistant', content: '', calls: [{ id, name: 'dice', arguments: '{}' }] }],
      tools,
      callFormOf(source),
    ).map(({ tool_calls: calls }) => calls?.[0]?.id);
  const NINE = '{% if tools and call.id|length != 9 %}';
  assert.equal(ids(NINE, 'abc123XYZ'), ['abc123XYZ']);
  assert.equal(ids(NINE, 'call_1'), ['74196fe72']);
  assert.equal(ids('{{ tools }}', 'call_1'), ['call_1']);
});

test.run();
