import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type GenerateOptions, generate, type LanguageModel, PROMPT_PART } from '../../engine/text/generate.ts';
import type { Sampler } from '../../engine/text/sampling/sampler.ts';

/** A token is a byte; 0 ends a text. */
const TOKENIZER = { bytesOf: (token: number) => Uint8Array.of(token), stops: new Set([0]) };

/** The tokens of `text`, as its UTF-8 bytes. */
const tokensOf = (text: string): number[] => [...new TextEncoder().encode(text)];

/** A model that writes `text` for any prompt and then ends; it records its inputs. Its only logit is the next token. */
function parrot(text: string): LanguageModel & { readonly asked: number[][] } {
  const next = [...tokensOf(text), 0].values();
  let logit = 0;
  const asked: number[][] = [];
  return {
    asked,
    contextLength: 2000,
    evaluate(tokens) {
      asked.push([...tokens]);
      // The parts of a long prompt count as one.
      if (tokens.length < PROMPT_PART) logit = next.next().value ?? 0;
      return Float32Array.of(logit);
    },
  };
}

const echo: Sampler = ([logit]) => logit as number;

async function say(text: string, more: Partial<GenerateOptions> = {}) {
  const pieces: string[] = [];
  const model = parrot(text);
  const onText = (piece: string): number => pieces.push(piece);
  const common = { model, tokenizer: TOKENIZER, prompt: [7], tokens: 50, sampler: echo, onText };
  const generated = await generate({ ...common, ...more });
  return { ...generated, pieces, asked: model.asked };
}

test('generation ends where the model ends, and text is streamed', async () => {
  const { text, pieces, reason, tokens, asked } = await say('Hi!');
  assert.is(text, 'Hi!');
  assert.equal(pieces, ['H', 'i', '!']);
  assert.is(reason, 'end');
  assert.equal(tokens, [...tokensOf('Hi!'), 0]);
  assert.equal(asked, [[7], [0x48], [0x69], [0x21]]);
});

test('generation ends after the requested tokens, without evaluating the last', async () => {
  const { text, reason, asked } = await say('Hello', { tokens: 2 });
  assert.is(text, 'He');
  assert.is(reason, 'length');
  assert.equal(asked, [[7], [0x48]]);
});

test('characters of several tokens are streamed as a whole, and incomplete ones at the end', async () => {
  assert.equal((await say('aé')).pieces, ['a', 'é']);
  assert.equal((await say('aé', { tokens: 2 })).pieces, ['a', '\ufffd']);
});

test('stop strings never appear, not even partly', async () => {
  const { text, pieces, reason } = await say('One\nUser: two', { stops: ['\nUser:'] });
  assert.is(text, 'One');
  assert.equal(pieces, ['O', 'n', 'e']);
  assert.is(reason, 'stop');
  assert.is((await say('One\nUse', { stops: ['\nUser:'] })).text, 'One\nUse');
});

test('the sampler gets prompt and text', async () => {
  const seen: number[][] = [];
  const sampler: Sampler = (logits, history) => {
    seen.push([...history]);
    return echo(logits, history);
  };
  await say('ab', { prompt: [7, 8], sampler });
  assert.equal(seen, [
    [7, 8],
    [7, 8, 0x61],
    [7, 8, 0x61, 0x62],
  ]);
});

test('a long prompt is evaluated in parts, with progress', async () => {
  const prompt = new Array<number>(PROMPT_PART + 3).fill(7);
  const done: number[] = [];
  const { text, asked } = await say('a', { prompt, onPrompt: (count) => done.push(count) });
  assert.is(text, 'a');
  assert.equal(
    asked.map(({ length }) => length),
    [PROMPT_PART, 3, 1],
  );
  assert.equal(done, [PROMPT_PART, PROMPT_PART + 3]);
});

test('a signal ends generation with the text so far', async () => {
  const controller = new AbortController();
  const pieces: string[] = [];
  const generated = await say('Hello', {
    signal: controller.signal,
    onText(piece) {
      pieces.push(piece);
      if (piece === 'e') controller.abort();
    },
  });
  assert.is(generated.reason, 'interrupt');
  assert.is(generated.text, 'He');
  assert.equal(pieces, ['H', 'e']);
});

test('a signal before the first token gives no text and no time to the first token', async () => {
  const { text, reason, tokens, firstTokenSeconds } = await say('Hello', { signal: AbortSignal.abort() });
  assert.equal([text, reason, tokens, firstTokenSeconds], ['', 'interrupt', [], undefined]);
});

test('times are those to the first token and from there to the last', async () => {
  // The clock is read at the start and for each token.
  const times = [10, 12, 12.5, 14];
  const { firstTokenSeconds, laterSeconds } = await say('abc', { tokens: 3, clock: () => times.shift() as number });
  assert.is(firstTokenSeconds, 2);
  assert.is(laterSeconds, 2);
});

test('a context that is too short is refused before anything is evaluated', async () => {
  try {
    await say('x', { prompt: [7, 7, 7], tokens: 1998 });
    assert.unreachable();
  } catch (error) {
    assert.is(
      (error as Error).message,
      'context: 3 tokens of the prompt and 1998 to generate are 2001, but it has room for 2000; ask for fewer or a longer context',
    );
  }
});

test.run();
