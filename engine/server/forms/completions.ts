import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { GeneratedPiece } from '../../runtime/batch/batch-engine.ts';
import { type AnswerForm, type Asked, completionUsage, finishReason } from '../answer-form.ts';
import { ApiError, openAiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, type FinishedChoice, samplingOf } from '../text-request.ts';
import { shownTokens } from './logprobs.ts';
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
    max_tokens: parameters.tokens.optional(),
    n: parameters.count.optional(),
    seed: parameters.seed.optional(),
    stop: parameters.stops.optional(),
    stream: z.boolean().optional(),
    stream_options: parameters.streamOptions.optional(),
    logprobs: parameters.topLogprobs.optional(),
    ...parameters.sampling,
    response_format: responseFormat.optional(),
    ...parameters.penalties,
    n_predict: parameters.tokens.optional(),
    best_of: parameters.count.optional(),
    ...extraFormats,
  }),
  harmless: parameters.HARMLESS,
  unsupported: {
    echo: { neutral: [false], remedy: 'leave it out, and put the prompt before the text yourself' },
    suffix: { neutral: [''], remedy: 'leave it out, since texts are only continued' },
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/completions`. @throws ApiError */
export async function askCompletion(model: ServedModel, json: unknown): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  if (body.stream_options !== undefined && body.stream !== true)
    throw new ApiError(400, 'stream_options: needs stream: true', 'stream_options', 'invalid_value');
  const chosen = body.n ?? 1;
  const count = Math.max(chosen, body.best_of ?? chosen);
  if (count > chosen && body.stream === true)
    throw new ApiError(400, 'best_of: chooses among whole texts; leave out stream', 'best_of', 'invalid_value');
  const { grammar, ignored } = grammarOf(model, formOf(body.response_format) ?? extraForm(body), PLACES);
  return {
    ignored,
    stream: body.stream ?? false,
    reading: undefined,
    form: completionForm(model, {
      ...{ count, chosen },
      topLogprobs: body.logprobs,
      usage: body.stream_options?.include_usage ?? false,
    }),
    request: {
      prompts: await tokensOfPrompts(model, body.prompt, 'prompt'),
      count,
      tokens: tokensOf(body, json),
      sampling: samplingOf(body),
      ...tokenRules(model, body),
      penalties: { frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0 },
      seed: body.seed,
      stops: parameters.stopList(body.stop),
      // The most probable texts are chosen by their tokens.
      topLogprobs: count > chosen ? (body.logprobs ?? 0) : body.logprobs,
      grammar,
    },
  };
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
}

function completionForm(
  { name, tokenizer }: ServedModel,
  { count, chosen, topLogprobs, usage }: FormOptions,
): AnswerForm {
  const common = { id: `cmpl-${randomUUID()}`, object: 'text_completion', created: Math.floor(Date.now() / 1000) };
  const chunk = (choices: readonly object[], more: object = usage ? { usage: null } : {}) => ({
    data: { ...common, model: name, choices, ...more },
  });
  /** Characters of each choice so far. */
  const offsets: number[] = [];
  const logprobs = (index: number, pieces: readonly GeneratedPiece[]) => {
    if (topLogprobs === undefined) return null;
    const tokens = shownTokens(tokenizer, pieces, topLogprobs);
    const texts = tokens.map(({ token }) => {
      const offset = offsets[index] ?? 0;
      offsets[index] = offset + token.length;
      return offset;
    });
    return {
      tokens: tokens.map(({ token }) => token),
      token_logprobs: tokens.map(({ logprob }) => logprob),
      top_logprobs: tokens.map(({ top_logprobs }) =>
        Object.fromEntries(top_logprobs.map(({ token, logprob }) => [token, logprob])),
      ),
      text_offset: texts,
    };
  };
  return {
    whole: (choices) => ({
      ...common,
      model: name,
      choices: mostProbable(choices, count, chosen).map(({ text, pieces, ...choice }, index) => ({
        index,
        text,
        logprobs: logprobs(index, pieces),
        finish_reason: finishReason(choice),
      })),
      usage: completionUsage(choices, count),
    }),
    begin: () => [],
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

/** Of each prompt's texts those whose tokens have the highest mean of their logarithmic probabilities, in their order. */
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
