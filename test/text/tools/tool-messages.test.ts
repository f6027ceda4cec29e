import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../../engine/text/message.ts';
import { startTemplateProcess } from '../../../engine/text/template-process.ts';
import { callFormOf, type Tool } from '../../../engine/text/tools/tool.ts';
import { templateMessages, templateTools } from '../../../engine/text/tools/tool-messages.ts';

const tools: readonly Tool[] = [{ name: 'dice', description: 'Rolls', parameters: { type: 'object', properties: {} } }];
const messages: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Roll' },
  { role: 'assistant', content: '', calls: [{ id: 'call_1', name: 'dice', arguments: '{"count":1}' }] },
  { role: 'tool', content: '[4]', callId: 'call_1', name: 'dice' },
];

/** Templates in the manner of Qwen 2.5's and Llama 3.1's, as far as they are about tools. */
const TAGGED = `{%- if tools %}{{ '# Tools in <tools></tools>, calls in <tool_call></tool_call>\\n' }}{%- for tool in tools %}{{ tool | tojson }}{{ '\\n' }}{%- endfor %}{%- endif %}
{%- for message in messages %}{{ message.role + ':' + message.content }}{%- for call in message.tool_calls or [] %}{{ '<tool_call>' + call.function.name + (call.function.arguments | tojson) + '</tool_call>' }}{%- endfor %}{{ '\\n' }}{%- endfor %}`;
const BARE = `{%- if tools %}{{ 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.' }}{%- endif %}`;

test('the form of calls is what the template teaches', () => {
  assert.equal(callFormOf(TAGGED), { kind: 'tagged', key: 'arguments', isTaught: true, hasShortIds: false });
  assert.equal(callFormOf(BARE), { kind: 'bare', key: 'parameters', isTaught: true, hasShortIds: false });
  assert.equal(callFormOf("{{ '[TOOL_CALLS]' if tools }}"), {
    kind: 'bare',
    key: 'arguments',
    isTaught: true,
    hasShortIds: false,
  });
  assert.equal(callFormOf('{{ messages }}'), { kind: 'tagged', key: 'arguments', isTaught: false, hasShortIds: false });
});

test('a template that knows tools gets them, with calls and results', async () => {
  const values = { messages: templateMessages(messages, tools, callFormOf(TAGGED)), tools: templateTools(tools) };
  assert.is(
    await startTemplateProcess().render(TAGGED, values),
    [
      '# Tools in <tools></tools>, calls in <tool_call></tool_call>',
      '{"type": "function", "function": {"name": "dice", "description": "Rolls", "parameters": {"type": "object", "properties": {}}}}',
      'system:Be brief.',
      'user:Roll',
      'assistant:<tool_call>dice{"count": 1}</tool_call>',
      'tool:[4]\n',
    ].join('\n'),
  );
});

test('for others a system message describes them, and calls and results are text', () => {
  const written = templateMessages(messages, tools, callFormOf('')) as { role: string; content: string }[];
  assert.equal(
    written.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
  const [system, , call, result] = written.map(({ content }) => content);
  assert.match(
    system ?? '',
    /^Be brief\.\n\nYou can call functions[\s\S]*\n\{"name":"dice","description":"Rolls"[\s\S]*<tool_call>/,
  );
  assert.is(call, '<tool_call>\n{"name": "dice", "arguments": {"count":1}}\n</tool_call>');
  assert.is(result, '<tool_response>\n[4]\n</tool_response>');
  assert.equal(templateMessages([{ role: 'user', content: 'Hi' }], [], callFormOf('')), [
    { role: 'user', content: 'Hi' },
  ]);
});

test.run();
