import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readItems, responseItems } from '../../engine/server/forms/response-items.ts';
import { alphabetServer } from './alphabet.ts';

/** Histories that other servers and clients wrote: a conversation goes on with them. */
const server = await alphabetServer();
test.after(() => server.stop());

function read(...items: object[]) {
  const leftOut: string[] = [];
  const messages = readItems(responseItems.parse([...items, { role: 'user', content: 'b' }]), leftOut);
  return { messages: messages.slice(0, -1), leftOut };
}

test('responses: calls of a client’s own kinds are calls, with their outputs', () => {
  const patch = { type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: '*** Begin' };
  const shell = { type: 'local_shell_call', call_id: 'd', action: { command: ['ls'] } };
  const outputs = [
    { type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'ok' }] },
    { type: 'local_shell_call_output', id: 'd', output: [{ stdout: 'a' }] },
  ];
  const { messages, leftOut } = read(patch, shell, ...outputs);
  const calls = [
    { id: 'c', name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
    { id: 'd', name: 'local_shell', arguments: '{"command":["ls"]}' },
  ];
  assert.equal(messages, [
    { role: 'assistant', content: '', reasoning: undefined, calls },
    { role: 'tool', content: 'ok', callId: 'c' },
    { role: 'tool', content: '[{"stdout":"a"}]', callId: 'd' },
  ]);
  assert.equal(leftOut, []);
});

test('responses: images of results are told of, other items are left out and named, stored ones refused', () => {
  const result = { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'data:' }] };
  const alone = { type: 'tool_search_call', call_id: 'x' };
  const { messages, leftOut } = read(result, { type: 'compaction', encrypted_content: 'x' }, alone);
  assert.equal(messages, [{ role: 'tool', content: '[image left out]', callId: 'c' }]);
  assert.equal(leftOut, ['input[0].output[0]', 'input[1]', 'input[2]']);
  assert.throws(() => read({ type: 'item_reference', id: 'msg_1' }), /^input\[0\]: refers to an item that is stored/);
});

test('chat: calls with a text, results without an id or with images, thoughts as parts, hints of other servers', async () => {
  const calls = [
    { id: 'c', type: 'custom', custom: { name: 'f', input: 'x' } },
    { type: 'function', function: { name: 'g', arguments: '{}' } },
  ];
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm' }], tool_calls: calls },
    { role: 'tool', content: null },
    { role: 'tool', content: [{ type: 'image_url', image_url: { url: 'data:' } }] },
  ];
  const hints = {
    samplers: ['top_k'],
    mirostat: 0,
    typical_p: 1,
    logit_bias: [[97, false]],
    thinking: { type: 'disabled' },
  };
  const asked = { model: 'alphabet', max_tokens: 1, temperature: 0, messages, ...hints };
  const answer = await server.post('/v1/chat/completions', asked);
  assert.equal([answer.status, answer.headers.get('x-hearth-ignored')], [200, 'messages[3].content[0]']);
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  assert.is.not(choices[0]?.message.content, 'a');
  const wrong = await server.post('/v1/chat/completions', { ...asked, mirostat: 2 });
  assert.match(await wrong.text(), /mirostat: is not supported; leave it out/);
});

test.run();
