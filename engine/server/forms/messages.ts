import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { BatchResult } from '../../runtime/batch/batch-engine.ts';
import { createTextStream } from '../../text/generate.ts';
import type { Message } from '../../text/message.ts';
import { createStopStrings } from '../../text/stop-strings.ts';
import type { ToolCall } from '../../text/tools/tool.ts';
import { type AnswerForm, type Asked, type ServerEvent, usageOf } from '../answer-form.ts';
import { anthropicError } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel, type FinishedChoice, promptOf, samplingOf } from '../text-request.ts';
import { textOf } from './content.ts';
import { blockMessage, readBlocks } from './message-blocks.ts';
import * as parameters from './parameters.ts';
import { formOf, grammarOf, outputConfig } from './text-format.ts';
import { thinkingVariables } from './thinking.ts';
import { messageChoice, messageTools, offered, toolUse } from './tools.ts';

const RULES = {
  shape: z.object({
    model: z.string(),
    messages: parameters.list(blockMessage, parameters.MOST_MESSAGES, 1),
    max_tokens: parameters.tokens,
    system: textOf('text').optional(),
    stop_sequences: parameters.list(parameters.stop, parameters.MOST_STOPS).optional(),
    stream: z.boolean().optional(),
    output_config: outputConfig.optional(),
    tools: messageTools.optional(),
    tool_choice: messageChoice.optional(),
    temperature: parameters.sampling.temperature,
    top_p: parameters.sampling.top_p,
    top_k: parameters.sampling.top_k,
    thinking: z.looseObject({ type: z.string() }).optional(),
  }),
  harmless: ['metadata', 'service_tier', 'context_management', 'betas', 'cache_control', 'inference_geo', 'speed'],
  unsupported: {
    mcp_servers: { neutral: [[]], remedy: 'give tools of your own' },
    container: { neutral: [], remedy: 'leave it out' },
  },
} satisfies BodyRules<z.ZodObject>;

const COUNTED = { ...RULES, shape: RULES.shape.partial({ max_tokens: true }) };

/** Reads Anthropic's `POST /v1/messages`. @throws ApiError */
export async function askMessage(model: ServedModel, json: unknown, signal: AbortSignal): Promise<Asked> {
  const body = readBody(RULES, json);
  const { prompt, form, reading, leftOut } = await conversationOf(model, body);
  const { grammar, ignored } = await grammarOf(model, form, PLACES, signal);
  const { stop_sequences: stops = [] } = body;
  return {
    stream: body.stream ?? false,
    reading,
    ignored: [...leftOut, ...ignored],
    form: messageForm(model, stops, reading.names.length > 0 || model.reasoning !== undefined),
    request: {
      prompts: [prompt],
      count: 1,
      tokens: body.max_tokens,
      sampling: samplingOf(body),
      penalties: { frequency: 0, presence: 0 },
      seed: undefined,
      stops,
      topLogprobs: undefined,
      grammar,
    },
  };
}

/** Anthropic's `POST /v1/messages/count_tokens`: the length of a conversation's prompt. @throws ApiError */
export async function countMessageTokens(model: ServedModel, json: unknown): Promise<{ input_tokens: number }> {
  const { prompt } = await conversationOf(model, readBody(COUNTED, json));
  return { input_tokens: prompt.length };
}

/** The prompt of a conversation, and what tools and formats ask of the answer. */
async function conversationOf(model: ServedModel, body: z.infer<typeof COUNTED.shape>) {
  checkModel(model, body.model);
  const { system } = body;
  const { type, name = '', disable_parallel_tool_use: isSingle = false } = body.tool_choice ?? { type: 'auto' };
  const { own, leftOut: tools } = offered(body.tools, isCustomTool);
  const leftOut = [...tools];
  const use = toolUse(model, {
    tools: own.map((tool) => ({ ...tool, schema: tool.input_schema })),
    choice: type === 'any' ? 'required' : type === 'tool' ? { name } : type,
    several: !isSingle,
    form: formOf(body.output_config?.format),
  });
  const begin: readonly Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  const messages = [...begin, ...body.messages.flatMap((one, index) => readBlocks(one, index, leftOut))];
  const effort = body.output_config?.effort ?? undefined;
  const variables = thinkingVariables({ thinking: body.thinking, reasoning_effort: effort });
  return { ...(await promptOf(model, { messages, ...use, variables })), leftOut };
}

type MessageTool = z.output<typeof messageTools>[number];
type CustomTool = MessageTool & {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly input_schema?: unknown;
};

function isCustomTool(tool: MessageTool): tool is CustomTool {
  return tool.type == null || tool.type === 'custom';
}

const PLACES = {
  text: 'output_config.format.schema',
  tool: (index: number) => `tools[${index}].input_schema`,
};

/** @param mayBeOther whether an answer may begin with something else than text */
function messageForm({ name, tokenizer }: ServedModel, stops: readonly string[], mayBeOther: boolean): AnswerForm {
  const begun = { id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: name };
  const usage = (choices: readonly FinishedChoice[]) => {
    const { prompt, cached, generated } = usageOf(choices, 1);
    // As Anthropic counts: input_tokens are those that were not cached.
    return {
      ...{ input_tokens: prompt - cached, output_tokens: generated },
      ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: 0 },
    };
  };
  const ending = ({ result, calls }: FinishedChoice) => ({
    stop_reason:
      calls.length > 0 && result.reason === 'end'
        ? 'tool_use'
        : { end: 'end_turn', length: 'max_tokens', stop: 'stop_sequence', interrupt: null }[result.reason],
    stop_sequence: result.reason === 'stop' ? (foundStop(tokenizer, result, stops) ?? null) : null,
  });
  const used = ({ id, name: called }: Pick<ToolCall, 'id' | 'name'>, input: unknown) => ({
    type: 'tool_use',
    id,
    name: called,
    input,
  });
  const contentOf = ({ reasoning, text, calls }: FinishedChoice): object[] => [
    ...(reasoning === '' ? [] : [thought(reasoning)]),
    ...(calls.length > 0 && text.trim() === '' ? [] : [{ type: 'text', text }]),
    ...calls.map((call) => used(call, JSON.parse(call.arguments))),
  ];
  /** Nobody but this server reads a thought again, so it has nothing to sign. */
  const thought = (thinking: string) => ({ type: 'thinking', thinking, signature: '' });
  /** Blocks so far, and what the last one is, if it may go on. */
  let blocks = 0;
  let open: 'text' | 'thinking' | 'call' | undefined;
  const closed = (): ServerEvent[] => {
    if (open === undefined) return [];
    open = undefined;
    return [event('content_block_stop', { index: blocks - 1 })];
  };
  const opened = (kind: 'text' | 'thinking'): ServerEvent[] => {
    if (open === kind) return [];
    const before = closed();
    open = kind;
    const block = kind === 'text' ? { type: 'text', text: '' } : thought('');
    return [...before, event('content_block_start', { index: blocks++, content_block: block })];
  };
  const added = (kind: 'text' | 'thinking', delta: object): ServerEvent[] => [
    ...opened(kind),
    event('content_block_delta', { index: blocks - 1, delta }),
  ];
  const event = (type: string, more: object): ServerEvent => ({ event: type, data: { type, ...more } });
  return {
    whole(choices) {
      const choice = choices[0] as FinishedChoice;
      return { ...begun, content: contentOf(choice), ...ending(choice), usage: usage(choices) };
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
      ...(mayBeOther ? [] : opened('text')),
    ],
    think: (_index, thinking) => added('thinking', { type: 'thinking_delta', thinking }),
    more(_index, text) {
      if (text === '' || (mayBeOther && open !== 'text' && text.trim() === '')) return [];
      return added('text', { type: 'text_delta', text });
    },
    call(_index, part) {
      switch (part.kind) {
        case 'begin': {
          const before = closed();
          open = 'call';
          return [...before, event('content_block_start', { index: blocks++, content_block: used(part, {}) })];
        }
        case 'more': {
          const delta = { type: 'input_json_delta', partial_json: part.arguments };
          return [event('content_block_delta', { index: blocks - 1, delta })];
        }
        case 'end':
          return closed();
      }
    },
    // A message has one block at least.
    finish: () => [...(blocks === 0 ? opened('text') : []), ...closed()],
    end(choices) {
      const choice = choices[0] as FinishedChoice;
      return [event('message_delta', { delta: ending(choice), usage: usage(choices) }), event('message_stop', {})];
    },
    fail: (error) => ({ event: 'error', data: anthropicError(error) }),
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
