import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { storiesServer } from './stories.ts';

/** Requests of evaluation harnesses and editors that speak to llama.cpp's server and vLLM. */

let server: Awaited<ReturnType<typeof storiesServer>>;
/** Made-up marks: tokens of the vocabulary that stand for them. */
const MARKS = { prefix: 300, suffix: 301, middle: 302, repository: 303, file: 304, ends: [305] };

test.before(async () => {
  server = await storiesServer(undefined, { cors: 'https://editor.example' }, MARKS);
});
test.after(() => server.stop());

interface Completion {
  readonly choices: readonly {
    readonly text: string;
    readonly finish_reason: string;
    readonly logprobs: {
      readonly tokens: readonly string[];
      readonly token_logprobs: readonly (number | null)[];
      readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
      readonly text_offset: readonly number[];
    };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

async function post<Body = Completion>(path: string, body: object): Promise<Body & { error?: { message: string } }> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Body & { error?: { message: string } };
}

async function tokensOf(content: string): Promise<number[]> {
  return (await post<{ tokens: number[] }>('/tokenize', { content, add_special: true })).tokens;
}

// The form of lm-evaluation-harness 0.4, LocalCompletionsAPI: loglikelihood of a continuation in lists of tokens.
test('a prompt is echoed with the probability of each token, as if it had been generated', async () => {
  const prompt = await tokensOf('One day, Mia and Max went to the park.');
  const asked = { model: 'stories', temperature: 0, max_tokens: 1, logprobs: 1, seed: 1234, echo: true };
  const { choices, usage } = await post('/v1/completions', { ...asked, prompt: [prompt, prompt.slice(0, 4)] });
  assert.is(choices.length, 2);
  const [first, second] = choices.map(({ logprobs }) => logprobs);
  assert.is(first?.tokens.length, prompt.length + 1);
  assert.is(second?.tokens.length, 5);
  assert.is(usage.completion_tokens, 2);
  assert.is(first?.token_logprobs[0], null);
  assert.is(first?.top_logprobs[0], null);
  for (const [index, token] of (first?.tokens ?? []).entries()) {
    if (index === 0) continue;
    const top = first?.top_logprobs[index] as Readonly<Record<string, number>>;
    const [best = -1] = Object.values(top);
    const own = first?.token_logprobs[index] as number;
    assert.ok(own <= best && best <= 0 && (own < best || token in top), `${token}: ${own}, ${JSON.stringify(top)}`);
  }
  // Each token of the prompt is what a request for one token after those before it would have given it.
  for (const at of [1, 3, 7]) {
    const { choices: next } = await post('/v1/completions', {
      ...{ prompt: prompt.slice(0, at), max_tokens: 1, logprobs: 20, temperature: 0 },
    });
    const [found = {}] = next[0]?.logprobs.top_logprobs ?? [];
    const token = first?.tokens[at] as string;
    const expected = (found as Readonly<Record<string, number>>)[token];
    if (expected !== undefined) assert.ok(Math.abs(expected - (first?.token_logprobs[at] as number)) < 0.02, token);
  }
});

// llama.cpp's server and vLLM, whose `add_special_tokens` it is, put the token at the beginning before texts alone.
test('a text has the probabilities of its tokens, with the one at the beginning or without', async () => {
  const asked = { model: 'stories', temperature: 0, max_tokens: 1, logprobs: 1, seed: 1, echo: true };
  const text = 'One day, Mia and Max';
  const tokens = await tokensOf(text);
  const found = async (more: object) => (await post('/v1/completions', { ...asked, ...more })).choices[0]?.logprobs;
  assert.equal((await found({ prompt: text }))?.token_logprobs, (await found({ prompt: tokens }))?.token_logprobs);
  const bare = await found({ prompt: text, add_special_tokens: false });
  assert.equal(bare?.token_logprobs, (await found({ prompt: tokens.slice(1) }))?.token_logprobs);
  assert.is(bare?.tokens.length, tokens.length);
});

test('a prompt is echoed alone, as text and in a stream', async () => {
  const prompt = 'One day, Mia';
  const { choices, usage } = await post('/v1/completions', { prompt, max_tokens: 0, echo: true, logprobs: 0 });
  assert.is(choices[0]?.text, prompt);
  assert.is(choices[0]?.finish_reason, 'length');
  assert.is(choices[0]?.logprobs.tokens.length, usage.prompt_tokens);
  assert.is(usage.completion_tokens, 0);
  const streamed = await fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prompt, max_tokens: 2, temperature: 0, echo: true, stream: true }),
  });
  const events = (await streamed.text()).split('\n\n').filter((line) => line.startsWith('data: {'));
  const text = events.map((line) => (JSON.parse(line.slice(6)) as Completion).choices[0]?.text).join('');
  assert.ok(text.startsWith(prompt) && text.length > prompt.length, text);
  const refused = await post('/v1/completions', { prompt, echo: true, stream: true, logprobs: 1 });
  assert.match(refused.error?.message ?? '', /echo: with logprobs, texts come whole/);
});

test('texts are held to a grammar in GBNF', async () => {
  const grammar = 'root ::= "Mia" (" and Max")? " has " [1-9] " " ("cats" | "dogs") "."';
  for (let seed = 0; seed < 4; seed++) {
    const body = { prompt: 'One day', grammar, seed, temperature: 1.5, n_predict: 60 };
    const { choices } = await post('/v1/completions', body);
    assert.match(choices[0]?.text ?? '', /^Mia( and Max)? has [1-9] (cats|dogs)\.$/);
  }
  const chat = await post<{ choices: { message: { content: string } }[] }>('/v1/chat/completions', {
    ...{ messages: [{ role: 'user', content: 'Hi' }], grammar: 'root ::= "yes" | "no"', max_tokens: 20 },
  });
  assert.match(chat.choices[0]?.message.content ?? '', /^(yes|no)$/);
  const wrong = await post('/v1/completions', { prompt: 'a', grammar: 'root ::= item' });
  assert.match(wrong.error?.message ?? '', /^grammar: has no rule "item"/);
});

test('a text is filled in between two others', async () => {
  const { choices, usage } = await post('/v1/completions', { prompt: 'One day', suffix: 'The end.', max_tokens: 2 });
  assert.is(typeof choices[0]?.text, 'string');
  const [prefix, suffix] = [await tokensOf('One day'), await tokensOf('The end.')];
  const marks = 3;
  assert.is(usage.prompt_tokens, prefix.length + suffix.length - 1 + marks);
  const filled = await post<{ content: string; tokens_evaluated: number; stop: boolean }>('/infill', {
    ...{ input_prefix: 'One ', prompt: 'day', input_suffix: 'The end.', n_predict: 2, temperature: 0 },
    ...{ input_extra: [{ filename: 'a.txt', text: 'Max' }], cache_prompt: true, samplers: ['top_k'] },
  });
  assert.is(filled.stop, true);
  assert.ok(filled.tokens_evaluated > usage.prompt_tokens);
});

test('paths of llama.cpp: properties, slots, tokens back to a text; reranking is refused in words', async () => {
  const get = async (path: string) => (await fetch(server.url + path)).json() as Promise<Record<string, unknown>>;
  const props = await get('/props');
  assert.is((props.default_generation_settings as { n_ctx: number }).n_ctx, 2048);
  assert.match(props.chat_template as string, /im_start/);
  assert.is(((await get('/slots')) as unknown as object[]).length, props.total_slots);
  const tokens = await tokensOf('One day');
  // With the mark of the beginning, from which the same tokens come again.
  const { content } = await post<{ content: string }>('/detokenize', { tokens });
  assert.is(content, '<|begin_of_text|>One day');
  assert.equal(await post('/tokenize', { content }), { tokens });
  const [begin, ...pieces] = tokens.map((id) => ({ id }));
  const spelled = await post<{ tokens: { piece: string }[] }>('/tokenize', { content, with_pieces: true });
  assert.equal(
    spelled.tokens.map(({ piece, ...one }) => one),
    [begin, ...pieces],
  );
  assert.is(spelled.tokens.map(({ piece }) => piece).join(''), content);
  const counted = await post<{ count: number; tokens: number[] }>('/tokenize', { prompt: 'One day' });
  assert.equal([counted.tokens, counted.count], [[...tokens], tokens.length]);
  const both = await post('/tokenize', { prompt: 'One', content: 'day' });
  assert.match(both.error?.message ?? '', /^prompt: is sent together with content/);
  assert.match((await get('/tokenizer_info')).chat_template as string, /im_start/);
  const rerank = await post('/v1/rerank', { query: 'a', documents: ['b'] });
  assert.match(rerank.error?.message ?? '', /reranking needs a model with a classification head/);
});

test('paths are answered without /v1, and HEAD as GET without a body', async () => {
  assert.is((await post('/completions', { prompt: 'a', max_tokens: 1 })).choices.length, 1);
  for (const path of ['/', '/health', '/v1/models', '/api/tags', '/api/version']) {
    const { status, headers } = await fetch(server.url + path, { method: 'HEAD' });
    assert.is(status, 200, path);
    assert.ok(headers.has('content-type'), path);
  }
});

test('a page of another origin may ask where it is allowed', async () => {
  const asked = { origin: 'https://editor.example', 'access-control-request-method': 'POST' };
  const { status, headers } = await fetch(`${server.url}/v1/completions`, { method: 'OPTIONS', headers: asked });
  assert.is(status, 204);
  assert.is(headers.get('access-control-allow-origin'), 'https://editor.example');
});

test('parameters of llama.cpp and vLLM: all are accepted', async () => {
  const more = {
    ...{ top_k: -1, repetition_penalty: 1.1, ignore_eos: true, stop_token_ids: [5], cache_prompt: true },
    ...{ logit_bias: { 40: -100 }, best_of: 3, n: 2, max_tokens: 4 },
  };
  assert.is((await post('/v1/completions', { prompt: 'One', ...more })).choices.length, 2);
  assert.is((await post('/v1/completions', { prompt: Array(12).fill('One'), max_tokens: 1, n: 2 })).choices.length, 24);
  const endless = await post('/v1/completions', { prompt: 'One day', max_tokens: -1, stop: ['.'] });
  assert.is(endless.choices[0]?.finish_reason, 'stop');
});

test.run();
