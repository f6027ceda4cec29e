import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

/** Requests in the manner of coding agents: their hints, histories and tools, with few words. */
const server = await alphabetServer();
test.after(() => server.stop());
const model = 'alphabet';
const parameters = { type: 'object', properties: { command: { type: 'array', items: { type: 'string' } } } };
const shell = { type: 'function', name: 'shell', description: 'Runs', strict: false, parameters };
const chatShell = { type: 'function', function: { name: 'shell', description: 'Runs', parameters } };

const REQUESTS: Readonly<Record<string, readonly [path: string, body: object, ignored?: string]>> = {
  'Codex CLI': [
    '/v1/responses',
    {
      ...{ model, instructions: 'Be brief.', tool_choice: 'auto', parallel_tool_calls: false, store: false },
      tools: [
        shell,
        { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark' } },
        { type: 'web_search' },
      ],
      reasoning: { effort: 'medium', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      ...{ prompt_cache_key: 'k', client_metadata: { a: 'b' }, text: { verbosity: 'low' }, service_tier: 'priority' },
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'p' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'ls' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'shell', arguments: '{"command":["l' },
        { type: 'function_call_output', call_id: 'c1', output: 'a.ts' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
        {
          ...{ type: 'message', id: 'msg_1', role: 'assistant', phase: 'final_answer', status: 'completed' },
          content: [{ type: 'output_text', text: 'done', annotations: [], logprobs: [] }],
        },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'ok' }] },
      ],
    },
    'tools[1], tools[2]',
  ],
  OpenCode: [
    '/v1/chat/completions',
    {
      ...{
        model,
        max_tokens: 8,
        temperature: 0,
        top_p: 1,
        reasoning_effort: 'medium',
        tools: [chatShell],
        tool_choice: 'auto',
      },
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: [{ type: 'text', text: 'ls', cache_control: { type: 'ephemeral' } }] },
        {
          ...{ role: 'assistant', content: '', reasoning_content: 'Hm', refusal: null, annotations: [], audio: null },
          tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'shell', arguments: '' } }],
        },
        { role: 'tool', tool_call_id: 'c', name: 'shell', content: [{ type: 'text', text: 'a.ts' }] },
      ],
    },
  ],
  Pi: [
    '/v1/chat/completions',
    {
      ...{ model, store: false, max_completion_tokens: 8, prompt_cache_key: 'k', prompt_cache_retention: '24h' },
      ...{ tools: [chatShell, { type: 'web_search_preview' }], chat_template_kwargs: { enable_thinking: false } },
      messages: [
        { role: 'developer', content: 'S' },
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null },
        { role: 'user', content: 'b' },
      ],
    },
    'tools[1]',
  ],
  'Qwen Code': [
    '/v1/chat/completions',
    {
      ...{
        model,
        max_tokens: 8,
        metadata: { sessionId: 's' },
        repetition_penalty: 1.05,
        top_k: -1,
        enable_thinking: true,
      },
      ...{ tools: [chatShell], vl_high_resolution_images: null },
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'x', tool_calls: [{ id: 'c', function: { name: 'ls', arguments: '{"a"' } }] },
        { role: 'tool', tool_call_id: 'c', content: '' },
      ],
    },
  ],
  'Claude Code': [
    '/v1/messages',
    {
      ...{
        model,
        max_tokens: 8,
        temperature: 1,
        metadata: { user_id: 'u' },
        thinking: { type: 'enabled', budget_tokens: 1024 },
      },
      system: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral' } }],
      tools: [
        {
          name: 'Bash',
          description: 'Runs',
          input_schema: { ...parameters, $schema: 'http://json-schema.org/draft-07/schema#' },
        },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 8 },
      ],
      context_management: { edits: [] },
      output_config: { effort: 'high' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'ls', cache_control: { type: 'ephemeral' } }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'tool_use', id: 't', name: 'Bash', input: {}, caller: { type: 'direct' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'a', is_error: false }] },
      ],
    },
    'tools[1]',
  ],
  'Gemini CLI, through a proxy': [
    '/v1/chat/completions',
    {
      ...{ model, max_tokens: 8, n: 1, top_k: 64, stream_options: null, tools: [chatShell], tool_choice: 'auto' },
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'ls', arguments: { a: 1 } } }],
        },
        { role: 'tool', tool_call_id: 'c', content: '{"output":"x"}' },
      ],
    },
  ],
};

for (const [agent, [path, body, ignored = null]] of Object.entries(REQUESTS))
  test(`${agent}: its request is answered, in a stream and as a whole`, async () => {
    for (const stream of [false, true]) {
      const answer = await server.post(path, { ...body, stream });
      const text = await answer.text();
      assert.is(answer.status, 200, text);
      assert.is(answer.headers.get('x-hearth-ignored'), ignored);
      if (stream) assert.not.match(text, /"error":\s*\{|event: error/);
    }
  });

test('single tokens: biases, ends, and ends that are left out', async () => {
  const write = async (more: object): Promise<string> => {
    const body = { prompt: 'x', max_tokens: 30, temperature: 0, ...more };
    const { choices } = (await (await server.post('/v1/completions', body)).json()) as { choices: { text: string }[] };
    return choices[0]?.text ?? '';
  };
  assert.is(await write({}), 'yz');
  assert.is(await write({ stop_token_ids: [122] }), 'y');
  assert.is(await write({ logit_bias: { 97: 100 }, max_tokens: 3 }), 'aaa');
  assert.is((await write({ ignore_eos: true, n_predict: 5, max_tokens: null })).length, 5);
  assert.is(await write({ max_tokens: -1 }), 'yz');
});

test('more prompts, choices and texts to embed than run at once are queued', async () => {
  const many = Array.from({ length: 20 }, () => 'x');
  const texts = (await (
    await server.post('/v1/completions', { prompt: many, max_tokens: 2, temperature: 0 })
  ).json()) as {
    choices: { text: string; index: number }[];
  };
  assert.equal(
    texts.choices.map(({ text, index }) => `${index}${text}`),
    many.map((_, index) => `${index}yz`),
  );
  const best = (await (
    await server.post('/v1/completions', { prompt: 'A', max_tokens: 2, n: 3, best_of: 12 })
  ).json()) as {
    choices: { index: number }[];
  };
  assert.equal(
    best.choices.map(({ index }) => index),
    [0, 1, 2],
  );
  const { data } = (await (await server.post('/v1/embeddings', { input: many })).json()) as { data: object[] };
  assert.is(data.length, 20);
});

test.run();
