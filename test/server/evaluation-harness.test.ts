import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alphabetServer } from './alphabet.ts';

/**
 * Requests as EleutherAI's lm-evaluation-harness sends them (lm_eval/models/openai_completions.py and api_models.py,
 * `local-completions` and `local-chat-completions`), and its reading of the answers.
 */
const server = await alphabetServer();
test.after(() => server.stop());
const model = 'alphabet';
const tokensOf = (text: string): number[] => [...new TextEncoder().encode(text)];

interface Choice {
  readonly index: number;
  readonly text: string;
  readonly message: { readonly content: string };
  readonly logprobs: {
    readonly tokens: readonly string[];
    readonly token_logprobs: readonly (number | null)[];
    readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  };
}

async function choicesOf(path: string, body: object): Promise<readonly Choice[]> {
  const answer = await server.post(path, body);
  assert.is(answer.status, 200, await answer.clone().text());
  return ((await answer.json()) as { choices: Choice[] }).choices.toSorted((a, b) => a.index - b.index);
}

/** The sum of a continuation's log-probabilities, and whether each of its tokens is the most probable one. */
function likelihood({ logprobs }: Choice, contextTokens: number): readonly [sum: number, isGreedy: boolean] {
  const own = logprobs.token_logprobs.slice(contextTokens, -1) as number[];
  const top = logprobs.top_logprobs.slice(contextTokens, -1);
  const isGreedy = own.every((value, index) => value === Math.max(...Object.values(top[index] ?? {})));
  return [own.reduce((sum, value) => sum + value, 0), isGreedy];
}

const CONTEXTS = ['a', 'xx', 'A', 'xyz'];
const ENDS = ['bcd', 'yq', 'Qa', 'a'];
/** A row of logits has one of 30 and 256 of 0, or after a capital letter 26 of 30. */
const ONE = Math.exp(30) / (Math.exp(30) + 256);
const OTHER = 1 / (Math.exp(30) + 256);
const CAPITAL = Math.exp(30) / (26 * Math.exp(30) + 231);
const AFTER_CAPITAL = 1 / (26 * Math.exp(30) + 231);
const WANTED = [
  [3 * Math.log(ONE), true],
  [Math.log(ONE) + Math.log(OTHER), false],
  [Math.log(CAPITAL) + Math.log(AFTER_CAPITAL), false],
  [Math.log(OTHER), false],
] as const;

for (const [what, prompts] of [
  ['texts', CONTEXTS.map((context, index) => context + ENDS[index])],
  ['lists of tokens', CONTEXTS.map((context, index) => tokensOf(context + ENDS[index]))],
] as const)
  test(`likelihoods of a batch of ${what}`, async () => {
    const body = { model, prompt: prompts, temperature: 0, max_tokens: 1, logprobs: 1, seed: 1234, echo: true };
    const choices = await choicesOf('/v1/completions', body);
    assert.is(choices.length, WANTED.length);
    for (const [index, [sum, isGreedy]] of WANTED.entries()) {
      const choice = choices[index] as Choice;
      const found = likelihood(choice, (CONTEXTS[index] as string).length);
      assert.ok(Math.abs(found[0] - sum) < 1e-4, `${index}: ${found[0]}, expected ${sum}`);
      assert.is(found[1], isGreedy);
      const own = choice.logprobs;
      assert.equal([own.token_logprobs[0], own.top_logprobs[0]], [null, null]);
      assert.is(own.tokens.slice(0, -1).join(''), `${CONTEXTS[index]}${ENDS[index]}`);
    }
  });

test('likelihoods of one prompt, and of a prompt after which the text ends', async () => {
  const body = { model, temperature: 0, max_tokens: 1, logprobs: 1, seed: 1234, echo: true };
  const [only] = await choicesOf('/v1/completions', { ...body, prompt: 'yz' });
  assert.is(likelihood(only as Choice, 1)[1], true);
  assert.is(only?.logprobs.token_logprobs.length, 3);
});

test('a batch of 40 prompts is answered in its order', async () => {
  const prompt = Array.from({ length: 40 }, (_, index) => [97 + (index % 25)]);
  const body = { model, prompt, max_tokens: 1, temperature: 0, stop: [], seed: 1234 };
  const choices = await choicesOf('/v1/completions', body);
  assert.equal(
    choices.map(({ text }) => text),
    prompt.map(([token]) => String.fromCharCode((token as number) + 1)),
  );
});

test('generation until a text, of prompts and of messages', async () => {
  const more = { model, max_tokens: 256, temperature: 0, stop: ['\n\n', 'k', '</s>'], seed: 1234 };
  const [first, second] = await choicesOf('/v1/completions', { ...more, max_tokens: 20, prompt: ['a', 'f'] });
  assert.equal([first?.text, second?.text], ['bcdefghij', 'ghij']);
  const messages = [{ role: 'user', content: 'Question: 3 + 4?\nAnswer:', type: 'text' }];
  const [answer] = await choicesOf('/v1/chat/completions', { ...more, messages, stop: more.stop.slice(0, 4) });
  assert.is(answer?.message.content, 'abcdefghij');
});

test('tokens that are written alike have the probability of the likeliest', async () => {
  // After "a" comes "b"; the bytes from 128 on are each written as one replacement character.
  const body = { model, prompt: [[97, 255, 97]], temperature: 0, max_tokens: 1, logprobs: 20, seed: 1, echo: true };
  const [choice] = await choicesOf('/v1/completions', body);
  const [, top] = choice?.logprobs.top_logprobs ?? [];
  assert.is(Object.keys(top ?? {})[Object.values(top ?? {}).indexOf(Math.max(...Object.values(top ?? {})))], 'b');
  assert.is(likelihood(choice as Choice, 1)[1], false);
});

// RemoteTokenizer of lm_eval/utils.py, which it takes where it finds these paths: no tokenizer has to be at hand.
test('the harness counts tokens with the server', async () => {
  const info = (await (await fetch(`${server.url}/tokenizer_info`)).json()) as Record<string, unknown>;
  assert.equal([info.bos_token, info.eos_token, info.chat_template], [null, '</s>', null]);
  const ask = async (path: string, body: object) => (await server.post(path, body)).json();
  const tokens = tokensOf('ab');
  const counted = await ask('/tokenize', { prompt: 'ab', add_special_tokens: false });
  assert.equal(counted, { count: 2, max_model_len: server.model.contextLength, tokens, token_strs: null });
  assert.is(((await ask('/detokenize', { tokens })) as { prompt: string }).prompt, 'ab');
  assert.is((await server.post('/tokenize', {})).status, 400);
});

test.run();
