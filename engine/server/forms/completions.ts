import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { GeneratedPiece } from '../../runtime/batch/batch-engine.ts';
import { type AnswerForm, type Asked, completionUsage, finishReason } from '../answer-form.ts';
import { ApiError, openAiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, samplingOf } from '../text-request.ts';
import { shownTokens } from './logprobs.ts';
import * as parameters from './parameters.ts';
import { prompts, tokensOfPrompts } from './prompts.ts';
import { formOf, grammarOf, responseFormat } from './text-format.ts';

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
  }),
  harmless: parameters.HARMLESS,
  unsupported: {
    echo: { neutral: [false], remedy: 'leave it out, and put the prompt before the text yourself' },
    suffix: { neutral: [''], remedy: 'leave it out, since texts are only continued' },
    best_of: { neutral: [1], remedy: 'leave it out, or ask for n texts and choose' },
    logit_bias: parameters.UNSUPPORTED.logit_bias,
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/completions`. @throws ApiError */
export async function askCompletion(model: ServedModel, json: unknown): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  if (body.stream_options !== undefined && body.stream !== true)
    throw new ApiError(400, 'stream_options: needs stream: true', 'stream_options', 'invalid_value');
  const count = body.n ?? 1;
  const { grammar, ignored } = grammarOf(model, formOf(body.response_format), PLACES);
  return {
    ignored,
    stream: body.stream ?? false,
    reading: undefined,
    form: completionForm(model, {
      count,
      topLogprobs: body.logprobs,
      usage: body.stream_options?.include_usage ?? false,
    }),
    request: {
      prompts: tokensOfPrompts(model, body.prompt, 'prompt'),
      count,
      tokens: body.max_tokens ?? DEFAULT_TOKENS,
      sampling: samplingOf(body),
      penalties: { frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0 },
      seed: body.seed,
      stops: parameters.stopList(body.stop),
      topLogprobs: body.logprobs,
      grammar,
    },
  };
}

const PLACES = { text: 'response_format.json_schema.schema', tool: (index: number) => `tools[${index}]` };

interface FormOptions {
  readonly count: number;
  readonly topLogprobs: number | undefined;
  readonly usage: boolean;
}

function completionForm({ name, tokenizer }: ServedModel, { count, topLogprobs, usage }: FormOptions): AnswerForm {
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
      choices: choices.map(({ index, text, pieces, ...choice }) => ({
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
