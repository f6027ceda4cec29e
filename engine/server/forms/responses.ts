import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { BatchResult } from '../../runtime/batch/batch-engine.ts';
import type { Message } from '../../text/message.ts';
import type { ToolCall } from '../../text/tools/tool.ts';
import { type AnswerForm, type Asked, type ServerEvent, usageOf } from '../answer-form.ts';
import { openAiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, type FinishedChoice, promptOf, samplingOf } from '../text-request.ts';
import * as parameters from './parameters.ts';
import { readItems, responseItems } from './response-items.ts';
import { formOf, grammarOf, textFormat } from './text-format.ts';
import { thinkingVariables } from './thinking.ts';
import { tokenRules } from './token-rules.ts';
import { offered, responseChoice, responseTools, toolUse } from './tools.ts';

const STATELESS = 'leave it out, and send the whole conversation as input; this server keeps none';

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    input: z.union(
      [z.string(), responseItems],
      'must be a text, or a list of messages, calls and their outputs that is not empty',
    ),
    instructions: z.string().optional(),
    max_output_tokens: parameters.tokens.optional(),
    seed: parameters.seed.optional(),
    stream: z.boolean().optional(),
    text: textFormat.optional(),
    tools: responseTools.optional(),
    tool_choice: responseChoice.optional(),
    parallel_tool_calls: z.boolean().optional(),
    ...parameters.sampling,
    ...parameters.thinking,
  }),
  harmless: [...parameters.HARMLESS, 'include', 'truncation', 'max_tool_calls', 'stream_options', 'context_management'],
  unsupported: {
    ...parameters.UNSUPPORTED,
    previous_response_id: { neutral: [], remedy: STATELESS },
    conversation: { neutral: [], remedy: STATELESS },
    prompt: { neutral: [], remedy: 'send the text as input; this server stores no prompts' },
    background: { neutral: [false], remedy: 'leave it out' },
    top_logprobs: { neutral: [0], remedy: 'use /v1/chat/completions, which has logprobs' },
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/responses`. Nothing is stored: `store` is ignored. @throws ApiError */
export async function askResponse(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  const { own, leftOut: tools } = offered(body.tools, isFunctionTool);
  const leftOut = [...tools];
  const turns: readonly Message[] =
    typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : readItems(body.input, leftOut);
  const { instructions } = body;
  const messages = instructions === undefined ? turns : [{ role: 'system', content: instructions } as const, ...turns];
  const sampling = samplingOf(body);
  const choice = body.tool_choice ?? 'auto';
  const several = body.parallel_tool_calls ?? true;
  const use = toolUse(model, {
    tools: own.map((tool) => ({ ...tool, schema: tool.parameters })),
    ...{ choice, several, form: formOf(body.text?.format) },
  });
  const { prompt, form, reading } = await promptOf(model, { messages, ...use, variables: thinkingVariables(body) });
  const { grammar, ignored } = await grammarOf(model, form, PLACES, signal);
  return {
    stream: body.stream ?? false,
    reading,
    ignored: [...leftOut, ...ignored],
    form: responseForm(
      {
        model: model.name,
        instructions: instructions ?? null,
        max_output_tokens: body.max_output_tokens ?? null,
        temperature: sampling.temperature,
        top_p: sampling.topP,
        text: { format: body.text?.format ?? { type: 'text' } },
        tools: body.tools ?? [],
        tool_choice: choice,
        parallel_tool_calls: several,
      },
      reading.names.length > 0 || model.reasoning !== undefined,
    ),
    request: {
      prompts: [prompt],
      count: 1,
      tokens: body.max_output_tokens,
      sampling,
      ...tokenRules(model, body),
      penalties: { frequency: 0, presence: 0 },
      seed: body.seed,
      stops: [],
      topLogprobs: undefined,
      grammar,
    },
  };
}

const PLACES = { text: 'text.format.schema', tool: (index: number) => `tools[${index}].parameters` };

type ResponseTool = z.output<typeof responseTools>[number];

function isFunctionTool(tool: ResponseTool): tool is Extract<ResponseTool, { readonly type: 'function' }> {
  return tool.type === 'function';
}

function messageId(): string {
  return `msg_${randomUUID()}`;
}

/**
 * @param echo fields of the request that an answer repeats
 * @param mayBeOther whether it may begin with something else than text
 */
function responseForm(echo: object, mayBeOther: boolean): AnswerForm {
  const id = `resp_${randomUUID()}`;
  const createdAt = Math.floor(Date.now() / 1000);
  const response = (status: string, more: object) => ({
    ...{ id, object: 'response', created_at: createdAt, status, ...echo, error: null, incomplete_details: null },
    ...{ output: [], store: false },
    ...{ previous_response_id: null, metadata: {}, truncation: 'disabled' },
    ...{ usage: null, ...more },
  });
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const item = (itemId: string, status: string, content: readonly object[]) => ({
    ...{ id: itemId, type: 'message', status, role: 'assistant', content },
  });
  const itemIdOf = (callId: string): string => callId.replace('call_', 'fc_');
  const callItem = ({ id: callId, name, arguments: own }: ToolCall, status = 'completed') => ({
    ...{ id: itemIdOf(callId), type: 'function_call', status, call_id: callId, name, arguments: own },
  });
  const thoughtId = `rs_${randomUUID()}`;
  const thoughtItem = (itemId: string, status: string, text?: string) => ({
    ...{ id: itemId, type: 'reasoning', status, summary: [] },
    content: text === undefined ? [] : [{ type: 'reasoning_text', text }],
  });
  /** Thoughts that are under way. */
  let thinking: string | undefined;
  /** Items of the output so far, and the text that is under way. */
  let items = 0;
  let message: { readonly index: number; readonly id: string; text: string } | undefined;
  const written: { readonly id: string }[] = [];
  /** The call that is under way, and the one that the text's end cut. */
  let calling: { readonly index: number; readonly id: string; readonly name: string; arguments: string } | undefined;
  let cut: ToolCall | undefined;
  const statusOf = ({ reason }: BatchResult) => (reason === 'length' ? 'incomplete' : 'completed');
  const whole = (choices: readonly FinishedChoice[]) => {
    const { result, reasoning, text, calls } = choices[0] as FinishedChoice;
    const status = statusOf(result);
    const hasText = (calls.length === 0 && reasoning === '') || text.trim() !== '';
    const { prompt, cached, generated, reasoning: thought } = usageOf(choices, 1);
    return response(status, {
      output: [
        ...(reasoning === '' ? [] : [thoughtItem(thoughtId, status, reasoning)]),
        ...(hasText ? [item(written[0]?.id ?? messageId(), status, [part(text)])] : []),
        ...calls.map((call) => callItem(call)),
        ...(cut === undefined ? [] : [callItem(cut, status)]),
      ],
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      usage: {
        input_tokens: prompt,
        input_tokens_details: { cached_tokens: cached },
        output_tokens: generated,
        output_tokens_details: { reasoning_tokens: thought },
        total_tokens: prompt + generated,
      },
    });
  };
  let sequence = 0;
  const event = (type: string, more: object): ServerEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...more },
  });
  const thoughtPlace = { output_index: 0, content_index: 0, item_id: thoughtId };
  const thought = (text: string): ServerEvent[] => {
    const part = { type: 'reasoning_text', text: '' };
    const before =
      thinking === undefined
        ? [
            event('response.output_item.added', {
              ...{ output_index: items++, item: thoughtItem(thoughtId, 'in_progress') },
            }),
            event('response.content_part.added', { ...thoughtPlace, part }),
          ]
        : [];
    thinking = (thinking ?? '') + text;
    return [...before, event('response.reasoning_text.delta', { ...thoughtPlace, delta: text })];
  };
  const thoughtEnded = (status = 'completed'): ServerEvent[] => {
    if (thinking === undefined) return [];
    const text = thinking;
    thinking = undefined;
    return [
      event('response.reasoning_text.done', { ...thoughtPlace, text }),
      event('response.content_part.done', { ...thoughtPlace, part: { type: 'reasoning_text', text } }),
      event('response.output_item.done', { output_index: 0, item: thoughtItem(thoughtId, status, text) }),
    ];
  };
  const begun = (): ServerEvent[] => {
    if (message !== undefined) return [];
    const before = thoughtEnded();
    message = { index: items++, id: messageId(), text: '' };
    written.push(message);
    return [
      ...before,
      event('response.output_item.added', { output_index: message.index, item: item(message.id, 'in_progress', []) }),
      event('response.content_part.added', { ...placeOf(message), part: part('') }),
    ];
  };
  const placeOf = (one: { readonly index: number; readonly id: string }) => ({
    ...{ output_index: one.index, content_index: 0, item_id: one.id },
  });
  const ended = (status: string): ServerEvent[] => {
    if (message === undefined) return [];
    const { index, id: itemId, text } = message;
    const place = placeOf(message);
    message = undefined;
    return [
      event('response.output_text.done', { ...place, text, logprobs: [] }),
      event('response.content_part.done', { ...place, part: part(text) }),
      event('response.output_item.done', { output_index: index, item: item(itemId, status, [part(text)]) }),
    ];
  };
  const placeOfCall = ({ index, id: callId }: { readonly index: number; readonly id: string }) => ({
    ...{ output_index: index, item_id: itemIdOf(callId) },
  });
  const callEnded = (status: string): ServerEvent[] => {
    if (calling === undefined) return [];
    const own = calling;
    calling = undefined;
    if (status !== 'completed') cut = own;
    const { name, arguments: given } = own;
    return [
      event('response.function_call_arguments.done', { ...placeOfCall(own), name, arguments: given }),
      event('response.output_item.done', { output_index: own.index, item: callItem(own, status) }),
    ];
  };
  return {
    whole,
    begin: () => [
      event('response.created', { response: response('in_progress', {}) }),
      event('response.in_progress', { response: response('in_progress', {}) }),
      ...(mayBeOther ? [] : begun()),
    ],
    think: (_index, text) => thought(text),
    more(_index, text) {
      if (text === '' || (mayBeOther && message === undefined && text.trim() === '')) return [];
      const before = begun();
      const now = message as NonNullable<typeof message>;
      now.text += text;
      return [...before, event('response.output_text.delta', { ...placeOf(now), delta: text, logprobs: [] })];
    },
    call(_index, part) {
      if (part.kind === 'begin') {
        const before = [...thoughtEnded(), ...ended('completed')];
        calling = { index: items++, id: part.id, name: part.name, arguments: '' };
        const added = callItem(calling, 'in_progress');
        return [...before, event('response.output_item.added', { output_index: calling.index, item: added })];
      }
      const now = calling as NonNullable<typeof calling>;
      if (part.kind === 'end') return callEnded('completed');
      now.arguments += part.arguments;
      return [event('response.function_call_arguments.delta', { ...placeOfCall(now), delta: part.arguments })];
    },
    finish: ({ result, calls, reasoning, text }) => [
      ...thoughtEnded(statusOf(result)),
      ...callEnded('incomplete'),
      ...(calls.length > 0 || cut !== undefined || (text === '' && reasoning !== '') ? [] : begun()),
      ...ended(statusOf(result)),
    ],
    end(choices) {
      const response = whole(choices);
      return [event(`response.${response.status}`, { response })];
    },
    // As OpenAI documents it, and with `error` as its API has it and its clients read it.
    fail: (error) =>
      event('error', { code: error.code, message: error.message, param: error.param, ...openAiError(error) }),
  };
}
