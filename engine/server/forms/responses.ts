import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { BatchResult } from '../../runtime/batch/batch-engine.ts';
import type { Message } from '../../text/prompt-tokens.ts';
import { type AnswerForm, type Asked, type ServerEvent, usageOf } from '../answer-form.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, conversationTokens, type FinishedChoice, samplingOf } from '../text-request.ts';
import * as parameters from './parameters.ts';
import { formOf, grammarOf, textFormat } from './text-format.ts';

/** What an earlier answer carries when a client sends it back; it changes nothing. */
const ECHOED = { id: z.string().optional(), status: z.string().optional() };
const message = z.strictObject({
  ...ECHOED,
  type: z.literal('message').optional(),
  role: z.string(),
  content: z.union([parameters.content('input_text'), parameters.content('output_text')]),
});

const STATELESS = 'leave it out, and send the whole conversation as input; this server keeps none';

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    input: z.union([z.string(), z.array(message).min(1)]),
    instructions: z.string().optional(),
    max_output_tokens: parameters.tokens.optional(),
    seed: parameters.seed.optional(),
    stream: z.boolean().optional(),
    text: textFormat.optional(),
    ...parameters.sampling,
  }),
  harmless: parameters.HARMLESS,
  unsupported: {
    ...parameters.UNSUPPORTED,
    stream_options: { neutral: [{}, { include_obfuscation: false }], remedy: 'leave it out' },
    previous_response_id: { neutral: [], remedy: STATELESS },
    conversation: { neutral: [], remedy: STATELESS },
    prompt: { neutral: [], remedy: 'send the text as input; this server stores no prompts' },
    background: { neutral: [false], remedy: 'leave it out' },
    include: { neutral: [[]], remedy: 'leave it out' },
    reasoning: { neutral: [{}], remedy: parameters.UNSUPPORTED.reasoning_effort.remedy },
    truncation: { neutral: ['disabled'], remedy: 'leave it out, and shorten the input yourself' },
    max_tool_calls: parameters.UNSUPPORTED.tools,
    top_logprobs: { neutral: [0], remedy: 'use /v1/chat/completions, which has logprobs' },
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/responses`. Nothing is stored: `store` is ignored. @throws ApiError */
export async function askResponse(model: ServedModel, json: unknown): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  const turns: readonly Message[] =
    typeof body.input === 'string'
      ? [{ role: 'user', content: body.input }]
      : body.input.map(({ role, content }, index) => ({
          role: parameters.roleOf(role, `input[${index}].role`),
          content,
        }));
  const { instructions } = body;
  const messages = instructions === undefined ? turns : [{ role: 'system', content: instructions } as const, ...turns];
  const sampling = samplingOf(body);
  const form = formOf(body.text?.format);
  return {
    stream: body.stream ?? false,
    form: responseForm({
      model: model.name,
      instructions: instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      text: { format: body.text?.format ?? { type: 'text' } },
    }),
    request: {
      prompts: [await conversationTokens(model, messages)],
      count: 1,
      tokens: body.max_output_tokens,
      sampling,
      penalties: { frequency: 0, presence: 0 },
      seed: body.seed,
      stops: [],
      topLogprobs: undefined,
      grammar: form && grammarOf(model, form, 'text.format.schema'),
    },
  };
}

/** @param echo fields of the request that an answer repeats */
function responseForm(echo: object): AnswerForm {
  const [id, itemId] = [`resp_${randomUUID()}`, `msg_${randomUUID()}`];
  const createdAt = Math.floor(Date.now() / 1000);
  const response = (status: string, more: object) => ({
    ...{ id, object: 'response', created_at: createdAt, status, ...echo, error: null, incomplete_details: null },
    ...{ output: [], parallel_tool_calls: false, tool_choice: 'none', tools: [], store: false },
    ...{ previous_response_id: null, metadata: {}, truncation: 'disabled' },
    ...{ usage: null, ...more },
  });
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const item = (status: string, content: readonly object[]) => ({
    ...{ id: itemId, type: 'message', status, role: 'assistant', content },
  });
  const statusOf = ({ reason }: BatchResult) => (reason === 'length' ? 'incomplete' : 'completed');
  const whole = (choices: readonly FinishedChoice[]) => {
    const { result } = choices[0] as FinishedChoice;
    const status = statusOf(result);
    const { prompt, cached, generated } = usageOf(choices, 1);
    return response(status, {
      output: [item(status, [part(result.text)])],
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      usage: {
        input_tokens: prompt,
        input_tokens_details: { cached_tokens: cached },
        output_tokens: generated,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: prompt + generated,
      },
    });
  };
  let sequence = 0;
  const event = (type: string, more: object): ServerEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...more },
  });
  const place = { output_index: 0, content_index: 0, item_id: itemId };
  return {
    whole,
    begin: () => [
      event('response.created', { response: response('in_progress', {}) }),
      event('response.in_progress', { response: response('in_progress', {}) }),
      event('response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
      event('response.content_part.added', { ...place, part: part('') }),
    ],
    more: (_index, text) =>
      text === '' ? [] : [event('response.output_text.delta', { ...place, delta: text, logprobs: [] })],
    finish: (_index, result) => [
      event('response.output_text.done', { ...place, text: result.text, logprobs: [] }),
      event('response.content_part.done', { ...place, part: part(result.text) }),
      event('response.output_item.done', { output_index: 0, item: item(statusOf(result), [part(result.text)]) }),
    ],
    end(choices) {
      const response = whole(choices);
      return [event(`response.${response.status}`, { response })];
    },
  };
}
