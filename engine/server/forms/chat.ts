import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type AnswerForm, type Asked, completionUsage, finishReason } from '../answer-form.ts';
import { ApiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, conversationTokens, samplingOf } from '../text-request.ts';
import { shownTokens } from './logprobs.ts';
import * as parameters from './parameters.ts';
import { formOf, grammarOf, responseFormat } from './text-format.ts';

const NO_CALLS = z.null('tool calls are not supported; leave it out').optional();
const message = z.strictObject({
  role: z.string(),
  content: parameters.content('text'),
  refusal: z.null().optional(),
  audio: z.null().optional(),
  tool_calls: NO_CALLS,
  function_call: NO_CALLS,
});

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    messages: z.array(message).min(1),
    max_tokens: parameters.tokens.optional(),
    max_completion_tokens: parameters.tokens.optional(),
    n: parameters.count.optional(),
    seed: parameters.seed.optional(),
    stop: parameters.stops.optional(),
    stream: z.boolean().optional(),
    stream_options: parameters.streamOptions.optional(),
    logprobs: z.boolean().optional(),
    top_logprobs: parameters.topLogprobs.optional(),
    ...parameters.sampling,
    response_format: responseFormat.optional(),
    ...parameters.penalties,
  }),
  harmless: parameters.HARMLESS,
  unsupported: {
    ...parameters.UNSUPPORTED,
    functions: parameters.UNSUPPORTED.tools,
    function_call: parameters.UNSUPPORTED.tool_choice,
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/chat/completions`. @throws ApiError */
export async function askChat(model: ServedModel, json: unknown): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  if (body.top_logprobs !== undefined && body.logprobs !== true)
    throw new ApiError(400, 'top_logprobs: needs logprobs: true', 'top_logprobs', 'invalid_value');
  if (body.stream_options !== undefined && body.stream !== true)
    throw new ApiError(400, 'stream_options: needs stream: true', 'stream_options', 'invalid_value');
  const messages = body.messages.map(({ role, content }, index) => ({
    role: parameters.roleOf(role, `messages[${index}].role`),
    content,
  }));
  const topLogprobs = body.logprobs === true ? (body.top_logprobs ?? 0) : undefined;
  const count = body.n ?? 1;
  const form = formOf(body.response_format);
  return {
    stream: body.stream ?? false,
    form: chatForm(model, { count, topLogprobs, usage: body.stream_options?.include_usage ?? false }),
    request: {
      prompts: [await conversationTokens(model, messages)],
      count,
      tokens: body.max_completion_tokens ?? body.max_tokens,
      sampling: samplingOf(body),
      penalties: { frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0 },
      seed: body.seed,
      stops: parameters.stopList(body.stop),
      topLogprobs,
      grammar: form && grammarOf(model, form, 'response_format.json_schema.schema'),
    },
  };
}

interface FormOptions {
  readonly count: number;
  readonly topLogprobs: number | undefined;
  /** Whether a stream ends with a chunk of its usage. */
  readonly usage: boolean;
}

function chatForm({ name, tokenizer }: ServedModel, { count, topLogprobs, usage }: FormOptions): AnswerForm {
  const common = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: name };
  const chunk = (choices: readonly object[], more: object = usage ? { usage: null } : {}) => ({
    data: { ...common, object: 'chat.completion.chunk', choices, ...more },
  });
  const logprobs = (pieces: Parameters<typeof shownTokens>[1]) =>
    topLogprobs === undefined ? null : { content: shownTokens(tokenizer, pieces, topLogprobs), refusal: null };
  return {
    whole: (choices) => ({
      ...common,
      object: 'chat.completion',
      choices: choices.map(({ index, result, pieces }) => ({
        index,
        message: { role: 'assistant', content: result.text, refusal: null },
        logprobs: logprobs(pieces),
        finish_reason: finishReason(result),
      })),
      usage: completionUsage(choices, count),
    }),
    begin: () =>
      Array.from({ length: count }, (_, index) =>
        chunk([{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]),
      ),
    more(index, text, piece) {
      const shown = piece === undefined ? null : logprobs([piece]);
      if (text === '' && (shown === null || shown.content.length === 0)) return [];
      return [chunk([{ index, delta: { content: text }, logprobs: shown, finish_reason: null }])];
    },
    finish: (index, result) => [chunk([{ index, delta: {}, logprobs: null, finish_reason: finishReason(result) }])],
    end: (choices) => [
      ...(usage ? [chunk([], { usage: completionUsage(choices, count) })] : []),
      { data: '[DONE]' as const },
    ],
  };
}
