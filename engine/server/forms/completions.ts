import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { GeneratedPiece } from '../../runtime/batch/batch-engine.ts';
import { type AnswerForm, type Asked, completionUsage, finishReason } from '../answer-form.ts';
import { ApiError, openAiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, type FinishedChoice, samplingOf, type TextRequest } from '../text-request.ts';
import { filledBetween, filling } from './infill.ts';
import { type PromptToken, promptTokens, shownTokens, tokenOf } from './logprobs.ts';
import * as parameters from './parameters.ts';
import { prompts, tokensOfPrompts } from './prompts.ts';
import { extraForm, extraFormats, formOf, grammarOf, responseFormat } from './text-format.ts';
import { tokenRules } from './token-rules.ts';

/** OpenAI's default of `max_tokens`. */
const DEFAULT_TOKENS = 16;

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    prompt: prompts,
    max_tokens: parameters.tokensOrNone.optional(),
    n: parameters.count.optional(),
    seed: parameters.seed.optional(),
    stop: parameters.stops.optional(),
    stream: z.boolean().optional(),
    stream_options: parameters.streamOptions.optional(),
    logprobs: parameters.topLogprobs.optional(),
    ...parameters.sampling,
    response_format: responseFormat.optional(),
    ...parameters.penalties,
    n_predict: parameters.tokensOrNone.optional(),
    best_of: parameters.count.optional(),
    echo: z.boolean().optional(),
    suffix: z.string().optional(),
    add_special_tokens: z.boolean().optional(),
    ...extraFormats,
  }),
  harmless: parameters.HARMLESS,
  unsupported: parameters.SAMPLERS,
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/completions`. @throws ApiError */
export async function askCompletion(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  if (body.stream_options !== undefined && body.stream !== true)
    throw new ApiError(400, 'stream_options: needs stream: true', 'stream_options', 'invalid_value');
  const chosen = body.n ?? 1;
  const count = Math.max(chosen, body.best_of ?? chosen);
  if (count > chosen && body.stream === true)
    throw new ApiError(400, 'best_of: chooses among whole texts; leave out stream', 'best_of', 'invalid_value');
  const { grammar, ignored } = await grammarOf(model, formOf(body.response_format) ?? extraForm(body), PLACES, signal);
  const echo = body.echo ?? false;
  if (echo && body.stream === true && body.logprobs !== undefined)
    throw new ApiError(400, 'echo: with logprobs, texts come whole; leave out stream', 'echo', 'invalid_value');
  const given = await promptsOf(model, body);
  const texts = typeof body.prompt === 'string' ? [body.prompt] : body.prompt;
  const echoed = given.map((tokens, index): EchoedPrompt => {
    const text = texts[index];
    return { tokens, text: () => (typeof text === 'string' ? text : textOf(model.tokenizer, tokens)) };
  });
  return {
    ignored,
    stream: body.stream ?? false,
    reading: undefined,
    form: completionForm(model, {
      ...{ count, chosen },
      topLogprobs: body.logprobs,
      usage: body.stream_options?.include_usage ?? false,
      echoed: echo ? echoed : undefined,
    }),
    request: {
      prompts: given,
      count,
      tokens: tokensOf(body, json),
      sampling: samplingOf(body),
      ...(body.suffix ? filling(model, tokenRules(model, body)) : tokenRules(model, body)),
      penalties: { frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0 },
      seed: body.seed,
      stops: parameters.stopList(body.stop),
      // The most probable texts are chosen by their tokens.
      topLogprobs: count > chosen ? (body.logprobs ?? 0) : body.logprobs,
      ...(echo && body.logprobs !== undefined ? { promptLogprobs: body.logprobs } : {}),
      grammar,
    },
  };
}

/** The prompts' tokens; with a suffix, a prompt is what the text lies between. @throws ApiError */
async function promptsOf(
  model: ServedModel,
  { prompt, suffix = '', add_special_tokens: addSpecial }: z.output<typeof RULES.shape>,
): Promise<TextRequest['prompts']> {
  if (suffix === '') return await tokensOfPrompts(model, prompt, 'prompt', addSpecial);
  if (typeof prompt !== 'string')
    throw new ApiError(400, 'suffix: needs one prompt, as a text', 'suffix', 'invalid_value');
  return [await filledBetween(model, { prefix: prompt, suffix })];
}

/** The most tokens of a text; `undefined`: as many as there is room for. */
function tokensOf(body: z.output<typeof RULES.shape>, json: unknown): number | undefined {
  const isGiven = ['max_tokens', 'n_predict'].some((name) => (json as Record<string, unknown>)[name] != null);
  return isGiven ? (body.max_tokens ?? body.n_predict) : DEFAULT_TOKENS;
}

const PLACES = { text: 'response_format.json_schema.schema', tool: (index: number) => `tools[${index}]` };

interface FormOptions {
  /** Texts of each prompt, and how many of them are returned. */
  readonly count: number;
  readonly chosen: number;
  readonly topLogprobs: number | undefined;
  readonly usage: boolean;
  /** Prompts that texts begin with. */
  readonly echoed: readonly EchoedPrompt[] | undefined;
}

interface EchoedPrompt {
  readonly tokens: readonly number[];
  /** Computed once the prompt was taken, and so is no longer than the context. */
  readonly text: () => string;
}

function textOf(tokenizer: ServedModel['tokenizer'], tokens: readonly number[]): string {
  return new TextDecoder().decode(Buffer.concat(tokens.map((token) => tokenizer.bytesOf(token))));
}

function completionForm(
  { name, tokenizer }: ServedModel,
  { count, chosen, topLogprobs, usage, echoed }: FormOptions,
): AnswerForm {
  const common = { id: `cmpl-${randomUUID()}`, object: 'text_completion', created: Math.floor(Date.now() / 1000) };
  const chunk = (choices: readonly object[], more: object = usage ? { usage: null } : {}) => ({
    data: { ...common, model: name, choices, ...more },
  });
  /** Characters of each choice so far. */
  const offsets: number[] = [];
  const listed = (index: number, tokens: readonly PromptToken[]) => {
    const shown = tokens.map(({ token }) => {
      const offset = offsets[index] ?? 0;
      offsets[index] = offset + token.length;
      return offset;
    });
    return {
      tokens: tokens.map(({ token }) => token),
      token_logprobs: tokens.map(({ logprob }) => logprob),
      top_logprobs: tokens.map(({ top_logprobs: top }) =>
        // Tokens that are written alike, such as parts of a character, have the probability of the likeliest.
        top === null ? null : Object.fromEntries(top.map(({ token, logprob }) => [token, logprob] as const).reverse()),
      ),
      text_offset: shown,
    };
  };
  const logprobs = (index: number, pieces: readonly GeneratedPiece[]) =>
    topLogprobs === undefined ? null : listed(index, shownTokens(tokenizer, pieces, topLogprobs));
  /** Log probabilities of the prompt and of all that was generated, also of the token that ends the text. */
  const echoedLogprobs = ({ index, pieces, result }: FinishedChoice, prompt: readonly number[]) => {
    if (topLogprobs === undefined) return null;
    const begin = promptTokens(tokenizer, prompt, result.promptLogprobs ?? [], topLogprobs);
    const more = pieces.map((piece) => tokenOf(tokenizer, piece.token, piece.logprobs ?? [], topLogprobs));
    return listed(index, [...begin, ...more]);
  };
  const promptOf = (index: number): EchoedPrompt | undefined => echoed?.[Math.floor(index / count)];
  return {
    whole: (choices) => ({
      ...common,
      model: name,
      choices: mostProbable(choices, count, chosen).map((choice, index) => {
        const prompt = promptOf(choice.index);
        return {
          index,
          text: (prompt?.text() ?? '') + choice.text,
          logprobs:
            prompt === undefined ? logprobs(choice.index, choice.pieces) : echoedLogprobs(choice, prompt.tokens),
          finish_reason: finishReason(choice),
        };
      }),
      usage: completionUsage(choices, count),
    }),
    begin: () =>
      (echoed ?? []).flatMap((prompt, number) =>
        Array.from({ length: count }, (_, index) =>
          chunk([{ index: number * count + index, text: prompt.text(), logprobs: null, finish_reason: null }]),
        ),
      ),
    more(index, text, piece) {
      const shown = piece === undefined ? null : logprobs(index, [piece]);
      if (text === '' && (shown === null || shown.tokens.length === 0)) return [];
      return [chunk([{ index, text, logprobs: shown, finish_reason: null }])];
    },
    think: () => [],
    call: () => [],
    finish: ({ index, ...choice }) => [
      chunk([{ index, text: '', logprobs: null, finish_reason: finishReason(choice) }]),
    ],
    end: (choices) => [
      ...(usage ? [chunk([], { usage: completionUsage(choices, count) })] : []),
      { data: '[DONE]' as const },
    ],
    fail: (error) => ({ data: openAiError(error) }),
  };
}

/** The texts of each prompt whose tokens have the highest mean log-probability, in their order. */
function mostProbable(choices: readonly FinishedChoice[], count: number, chosen: number): readonly FinishedChoice[] {
  if (chosen === count) return choices;
  const meanOf = ({ pieces }: FinishedChoice): number => {
    const own = pieces.map(({ token, logprobs = [] }) => logprobs.find((one) => one.token === token)?.logprob ?? 0);
    return own.reduce((sum, value) => sum + value, 0) / Math.max(1, own.length);
  };
  const kept = Array.from({ length: choices.length / count }, (_, prompt) => {
    const own = choices.slice(prompt * count, (prompt + 1) * count);
    return own.toSorted((a, b) => meanOf(b) - meanOf(a)).slice(0, chosen);
  });
  return kept.flat().sort((a, b) => a.index - b.index);
}
