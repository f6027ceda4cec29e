import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { BatchResult } from '../../runtime/batch/batch-engine.ts';
import { createTextStream } from '../../text/generate.ts';
import type { Message } from '../../text/prompt-tokens.ts';
import { createStopStrings } from '../../text/stop-strings.ts';
import { type AnswerForm, type Asked, type ServerEvent, usageOf } from '../answer-form.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, conversationTokens, type FinishedChoice, samplingOf } from '../text-request.ts';
import * as parameters from './parameters.ts';
import { formOf, grammarOf, outputConfig } from './text-format.ts';

const RULES = {
  shape: z.object({
    model: z.string(),
    messages: z
      .array(z.strictObject({ role: z.enum(['user', 'assistant']), content: parameters.content('text') }))
      .min(1),
    max_tokens: parameters.tokens,
    system: parameters.content('text').optional(),
    stop_sequences: z.array(parameters.stop).max(16).optional(),
    stream: z.boolean().optional(),
    output_config: outputConfig.optional(),
    temperature: parameters.sampling.temperature,
    top_p: parameters.sampling.top_p,
    top_k: parameters.sampling.top_k,
  }),
  harmless: ['metadata'],
  unsupported: {
    tools: parameters.UNSUPPORTED.tools,
    tool_choice: { neutral: [{ type: 'auto' }, { type: 'none' }], remedy: parameters.UNSUPPORTED.tools.remedy },
    thinking: { neutral: [{ type: 'disabled' }], remedy: parameters.UNSUPPORTED.reasoning_effort.remedy },
    service_tier: { neutral: ['auto', 'standard_only'], remedy: 'leave it out' },
    mcp_servers: { neutral: [[]], remedy: parameters.UNSUPPORTED.tools.remedy },
    container: { neutral: [], remedy: 'leave it out' },
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads Anthropic's `POST /v1/messages`. @throws ApiError */
export async function askMessage(model: ServedModel, json: unknown): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  const { system, stop_sequences: stops = [] } = body;
  const form = formOf(body.output_config?.format);
  const begin: readonly Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  return {
    stream: body.stream ?? false,
    form: messageForm(model, stops),
    request: {
      prompts: [await conversationTokens(model, [...begin, ...body.messages])],
      count: 1,
      tokens: body.max_tokens,
      sampling: samplingOf(body),
      penalties: { frequency: 0, presence: 0 },
      seed: undefined,
      stops,
      topLogprobs: undefined,
      grammar: form && grammarOf(model, form, 'output_config.format.schema'),
    },
  };
}

function messageForm({ name, tokenizer }: ServedModel, stops: readonly string[]): AnswerForm {
  const begun = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: name };
  const usage = (choices: readonly FinishedChoice[]) => {
    const { prompt, cached, generated } = usageOf(choices, 1);
    // As Anthropic counts: input_tokens are those that were not cached.
    return {
      ...{ input_tokens: prompt - cached, output_tokens: generated },
      ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: 0 },
    };
  };
  const ending = (result: BatchResult) => ({
    stop_reason: { end: 'end_turn', length: 'max_tokens', stop: 'stop_sequence', interrupt: null }[result.reason],
    stop_sequence: result.reason === 'stop' ? (foundStop(tokenizer, result, stops) ?? null) : null,
  });
  const event = (type: string, more: object): ServerEvent => ({ event: type, data: { type, ...more } });
  return {
    whole(choices) {
      const { result } = choices[0] as FinishedChoice;
      return { ...begun, content: [{ type: 'text', text: result.text }], ...ending(result), usage: usage(choices) };
    },
    begin: (promptTokens) => [
      event('message_start', {
        message: {
          ...begun,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: promptTokens, output_tokens: 0 },
        },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ],
    more: (index, text) =>
      text === '' ? [] : [event('content_block_delta', { index, delta: { type: 'text_delta', text } })],
    finish: (index) => [event('content_block_stop', { index })],
    end(choices) {
      const { result } = choices[0] as FinishedChoice;
      return [event('message_delta', { delta: ending(result), usage: usage(choices) }), event('message_stop', {})];
    },
  };
}

/** The stop string that ended a text. */
function foundStop(
  tokenizer: ServedModel['tokenizer'],
  { tokens }: BatchResult,
  stops: readonly string[],
): string | undefined {
  const stream = createTextStream(tokenizer);
  const search = createStopStrings(stops);
  for (const token of tokens) search.add(stream.add(token));
  return search.found;
}
