import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Message } from '../../text/message.ts';
import type { ToolCall } from '../../text/tools/tool.ts';
import { type AnswerForm, type Asked, completionUsage, finishReason } from '../answer-form.ts';
import { ApiError, openAiError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, promptOf, samplingOf } from '../text-request.ts';
import { type Content, contentOf, plainText, resultText, textOf } from './content.ts';
import { shownTokens } from './logprobs.ts';
import * as parameters from './parameters.ts';
import { extraForm, extraFormats, formOf, grammarOf, responseFormat } from './text-format.ts';
import { thinkingVariables } from './thinking.ts';
import { tokenRules } from './token-rules.ts';
import { argumentsText, chatChoice, chatTools, MOST_TOOLS, offered, toolUse } from './tools.ts';

/** Further fields of an earlier answer, such as annotations, change nothing. */
const called = z.looseObject({
  id: z.string().nullish(),
  type: z.literal('function').nullish(),
  function: z.looseObject({ name: z.string(), arguments: argumentsText }),
});
/** A call of a tool that takes a text. */
const calledWithText = z.looseObject({
  id: z.string().nullish(),
  type: z.literal('custom'),
  custom: z.looseObject({ name: z.string(), input: z.string() }),
});
const call = z.union([called, calledWithText]);
const message = z.looseObject({
  role: z.string(),
  content: contentOf('text').nullish(),
  ...{ reasoning_content: z.string().nullish(), reasoning: z.string().nullish() },
  refusal: z.string().nullish(),
  tool_calls: parameters.list(call, MOST_TOOLS).nullish(),
  tool_call_id: z.string().nullish(),
  name: z.string().nullish(),
  function_call: z.null('is not supported; send tool_calls').optional(),
});

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    messages: parameters.list(message, parameters.MOST_MESSAGES, 1),
    max_tokens: parameters.tokens.optional(),
    max_completion_tokens: parameters.tokens.optional(),
    n_predict: parameters.tokens.optional(),
    n: parameters.count.optional(),
    seed: parameters.seed.optional(),
    stop: parameters.stops.optional(),
    stream: z.boolean().optional(),
    stream_options: parameters.streamOptions.optional(),
    logprobs: z.boolean().optional(),
    top_logprobs: parameters.topLogprobs.optional(),
    ...parameters.sampling,
    response_format: responseFormat.optional(),
    tools: chatTools.optional(),
    tool_choice: chatChoice.optional(),
    parallel_tool_calls: z.boolean().optional(),
    ...parameters.penalties,
    ...parameters.thinking,
    /** As providers of models that think have it. */
    thinking: z.looseObject({ type: z.string() }).optional(),
    ...extraFormats,
  }),
  harmless: [...parameters.HARMLESS, 'web_search_options', 'include_reasoning', 'stream_reasoning'],
  unsupported: {
    ...parameters.UNSUPPORTED,
    functions: { neutral: [[]], remedy: 'give tools' },
    function_call: { neutral: ['auto', 'none'], remedy: 'give tool_choice' },
  },
} satisfies BodyRules<z.ZodObject>;

/** Reads `POST /v1/chat/completions`. @throws ApiError */
export async function askChat(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  if (body.top_logprobs !== undefined && body.logprobs !== true)
    throw new ApiError(400, 'top_logprobs: needs logprobs: true', 'top_logprobs', 'invalid_value');
  if (body.stream_options !== undefined && body.stream !== true)
    throw new ApiError(400, 'stream_options: needs stream: true', 'stream_options', 'invalid_value');
  const { own, leftOut: tools } = offered(body.tools, isFunctionTool);
  const leftOut = [...tools];
  const messages = readMessages(body.messages, leftOut);
  const topLogprobs = body.logprobs === true ? (body.top_logprobs ?? 0) : undefined;
  const count = body.n ?? 1;
  const choice = body.tool_choice ?? 'auto';
  const use = toolUse(model, {
    tools: own.map((tool) => ({ ...tool.function, schema: tool.function.parameters })),
    choice: typeof choice === 'string' ? choice : choice.function,
    several: body.parallel_tool_calls ?? true,
    form: formOf(body.response_format) ?? extraForm(body),
  });
  const { prompt, form, reading } = await promptOf(model, { messages, ...use, variables: thinkingVariables(body) });
  const { grammar, ignored } = await grammarOf(model, form, PLACES, signal);
  return {
    stream: body.stream ?? false,
    reading,
    ignored: [...leftOut, ...ignored],
    form: chatForm(model, { count, topLogprobs, usage: body.stream_options?.include_usage ?? false }),
    request: {
      prompts: [prompt],
      count,
      tokens: body.max_completion_tokens ?? body.max_tokens ?? body.n_predict,
      sampling: samplingOf(body),
      ...tokenRules(model, body),
      penalties: { frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0 },
      seed: body.seed,
      stops: parameters.stopList(body.stop),
      topLogprobs,
      grammar,
    },
  };
}

const PLACES = {
  text: 'response_format.json_schema.schema',
  tool: (index: number) => `tools[${index}].function.parameters`,
};

type ChatTool = z.output<typeof chatTools>[number];

function isFunctionTool(tool: ChatTool): tool is Extract<ChatTool, { readonly type: 'function' }> {
  return tool.type === 'function';
}

/** @param leftOut takes the places of what the model isn't told */
function readMessages(given: readonly z.output<typeof message>[], leftOut: string[]): Message[] {
  /** Calls whose results are still to come, for results that don't name theirs. */
  let waiting: string[] = [];
  return given.map((one, index): Message => {
    const read = readMessage(one, index, waiting[0], leftOut);
    if (read.calls !== undefined) waiting = read.calls.map(({ id }) => id);
    if (read.role === 'tool') waiting = waiting.filter((id) => id !== read.callId);
    return read;
  });
}

function readMessage(
  given: z.output<typeof message>,
  index: number,
  waiting: string | undefined,
  leftOut: string[],
): Message {
  const { tool_calls: calls, name } = given;
  const where = `messages[${index}]`;
  const role = given.role === 'tool' ? 'tool' : parameters.roleOf(given.role, `${where}.role`);
  if (role === 'tool') {
    const callId = given.tool_call_id ?? waiting;
    if (callId === undefined)
      throw new ApiError(400, `${where}.tool_call_id: is for role "tool", which needs it`, where, 'invalid_value');
    const content = resultText(given.content ?? [], `${where}.content`, leftOut);
    return { role, content, callId, name: name ?? undefined };
  }
  const content = given.content ?? (given.refusal == null ? undefined : [given.refusal]);
  if (calls != null && role !== 'assistant')
    throw new ApiError(400, `${where}.tool_calls: only an assistant has them`, where, 'invalid_value');
  if (content === undefined && role !== 'assistant')
    throw new ApiError(400, `${where}.content: is missing; give a text`, `${where}.content`, 'invalid_value');
  if (given.tool_call_id != null)
    throw new ApiError(400, `${where}.tool_call_id: is for role "tool", which needs it`, where, 'invalid_value');
  if (role !== 'assistant') return { role, content: plainText(content ?? [], `${where}.content`) };
  const { thoughts, others } = withoutThoughts(content ?? []);
  return {
    ...{ role, content: plainText(others, `${where}.content`) },
    reasoning: given.reasoning_content ?? given.reasoning ?? thoughts,
    ...(calls == null ? {} : { calls: calls.map((one, number) => readCall(one, `call_${index}_${number}`)) }),
  };
}

/** Thoughts that are a part of the content, as Mistral's API has them, and the other parts. */
function withoutThoughts(content: Content): { readonly thoughts: string | undefined; readonly others: Content } {
  const [thoughts, others]: [string[], (typeof content)[number][]] = [[], []];
  for (const one of content) {
    const read =
      typeof one !== 'string' && one.type === 'thinking' ? thinkingPart.safeParse(one.part.thinking) : undefined;
    if (read?.success === true) thoughts.push(read.data);
    else others.push(one);
  }
  return { thoughts: thoughts.length === 0 ? undefined : thoughts.join(''), others };
}

const thinkingPart = textOf('text');

function readCall(given: z.output<typeof call>, fallback: string): ToolCall {
  const id = given.id ?? fallback;
  if (given.type === 'custom') {
    const { name, input } = (given as z.output<typeof calledWithText>).custom;
    return { id, name, arguments: JSON.stringify({ input }) };
  }
  const { name, arguments: own } = (given as z.output<typeof called>).function;
  return { id, name, arguments: own };
}

function writtenCall({ id, name, arguments: own }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: own } };
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
  const callCounts: number[] = [];
  const logprobs = (pieces: Parameters<typeof shownTokens>[1]) =>
    topLogprobs === undefined ? null : { content: shownTokens(tokenizer, pieces, topLogprobs), refusal: null };
  return {
    whole: (choices) => ({
      ...common,
      object: 'chat.completion',
      choices: choices.map(({ index, reasoning, text, calls, pieces, result }) => ({
        index,
        message: {
          ...{ role: 'assistant', content: calls.length > 0 && text.trim() === '' ? null : text, refusal: null },
          ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
          ...(calls.length > 0 ? { tool_calls: calls.map(writtenCall) } : {}),
        },
        logprobs: logprobs(pieces),
        finish_reason: finishReason({ result, calls }),
      })),
      usage: completionUsage(choices, count),
    }),
    begin: () =>
      Array.from({ length: count }, (_, index) =>
        chunk([{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]),
      ),
    think: (index, reasoning, piece) => [
      chunk([
        {
          index,
          delta: { reasoning_content: reasoning },
          logprobs: piece === undefined ? null : logprobs([piece]),
          finish_reason: null,
        },
      ]),
    ],
    more(index, text, piece) {
      const shown = piece === undefined ? null : logprobs([piece]);
      if (text === '' && (shown === null || shown.content.length === 0)) return [];
      return [chunk([{ index, delta: { content: text }, logprobs: shown, finish_reason: null }])];
    },
    call(index, part) {
      if (part.kind === 'end') return [];
      const before = callCounts[index] ?? 0;
      if (part.kind === 'begin') callCounts[index] = before + 1;
      const own =
        part.kind === 'begin'
          ? { index: before, ...writtenCall({ ...part, arguments: '' }) }
          : { index: before - 1, function: { arguments: part.arguments } };
      return [chunk([{ index, delta: { tool_calls: [own] }, logprobs: null, finish_reason: null }])];
    },
    finish: ({ index, ...choice }) => [
      chunk([{ index, delta: {}, logprobs: null, finish_reason: finishReason(choice) }]),
    ],
    end: (choices) => [
      ...(usage ? [chunk([], { usage: completionUsage(choices, count) })] : []),
      { data: '[DONE]' as const },
    ],
    fail: (error) => ({ data: openAiError(error) }),
  };
}
