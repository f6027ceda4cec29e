import { z } from 'zod';
import type { Message } from '../../text/message.ts';
import type { ToolCall } from '../../text/tools/tool.ts';
import { ApiError } from '../api-error.ts';
import { type Content, contentOf, plainText, resultText } from './content.ts';
import * as parameters from './parameters.ts';
import { argumentsText } from './tools.ts';

/** Fields of an earlier answer that a client sends back; they change nothing. */
const ECHOED = { id: z.string().nullish(), status: z.string().nullish() };
const message = z.looseObject({
  ...ECHOED,
  type: z.literal('message').optional(),
  role: z.string(),
  content: contentOf('input_text'),
});

/** A text, parts, or an object, which is told as JSON. */
const output = z
  .union([contentOf('input_text'), z.looseObject({})])
  .transform((value): Content => (Array.isArray(value) ? (value as Content) : [JSON.stringify(value)]));
const called = z.looseObject({
  ...ECHOED,
  type: z.literal('function_call'),
  ...{ call_id: z.string(), name: z.string(), arguments: argumentsText },
});
const returned = z.looseObject({
  ...ECHOED,
  type: z.literal('function_call_output'),
  ...{ call_id: z.string(), output: output },
});
const texts = z.array(z.looseObject({ type: z.string(), text: z.string().optional() }));
const thought = z.looseObject({
  ...ECHOED,
  type: z.literal('reasoning'),
  ...{ summary: texts.nullish(), content: texts.nullish(), encrypted_content: z.string().nullish() },
});

const READ = ['message', 'function_call', 'function_call_output', 'reasoning'];
/** Items of other kinds: calls of tools that clients know by their own names, and what only the server knows that wrote it. */
const other = z
  .looseObject({ type: z.string(), call_id: z.string().optional(), name: z.string().optional() })
  .refine(({ type }) => !READ.includes(type), { path: ['type'], error: 'is not of another kind', abort: true });
/** Calls of tools that ran on other servers; the conversation goes on without them. */
const ELSEWHERE = /^(?:web_search|file_search|code_interpreter|image_generation|mcp)_call$/;

/** Items of a conversation. */
export const responseItems = parameters.list(
  z.union([message, called, returned, thought, other]),
  parameters.MOST_MESSAGES,
  1,
);

type Other = z.output<typeof other>;
type Known = z.output<typeof message | typeof called | typeof returned | typeof thought>;
type Item = Known | Other;

function isOther(item: Item): item is Other {
  return item.type !== undefined && !READ.includes(item.type);
}

/** The call that an item is or answers; outputs of some kinds have its name as their own. */
function callOf(item: Item): string | undefined {
  const id = item.call_id ?? item.id;
  return typeof id === 'string' ? id : undefined;
}

/** Ids of calls, whatever their kind, that have an output in the list. */
function answeredCalls(items: readonly Item[]): ReadonlySet<string> {
  const idsOf = (end: RegExp): string[] =>
    items.flatMap((item) => (end.test(item.type ?? '') ? [callOf(item) ?? ''] : []));
  const answered = new Set(idsOf(/_call_output$/));
  return new Set(idsOf(/_call$/).filter((id) => answered.has(id)));
}

/**
 * An item of another kind as a call of a function, or its output, where the list has both; `undefined`: it is left out.
 * @throws ApiError 400 for one that refers to what another server has stored
 */
function asFunction(item: Other, index: number, answered: ReadonlySet<string>): Known | undefined {
  const { type } = item;
  const id = callOf(item);
  if (type === 'item_reference') {
    const problem = 'refers to an item that is stored elsewhere; send the item itself, and store: false';
    throw new ApiError(400, `input[${index}]: ${problem}`, `input[${index}]`, 'unsupported_value');
  }
  const [, tool, isOutput] = /^(\w+)_call(_output)?$/.exec(type) ?? [];
  if (tool === undefined || id === undefined || !answered.has(id)) return undefined;
  if (isOutput !== undefined) {
    const { success, data } = output.safeParse(item.output ?? '');
    return { type: 'function_call_output', call_id: id, output: success ? data : [JSON.stringify(item.output)] };
  }
  const { input, arguments: own, action, operation } = item;
  const asked = typeof input === 'string' ? { input } : (own ?? action ?? operation ?? '');
  return { type: 'function_call', call_id: id, name: item.name ?? tool, arguments: argumentsText.parse(asked) };
}

/**
 * The messages of input items: thoughts begin an assistant's message, and calls belong to the one before them.
 * @param leftOut takes the places of what the model isn't told
 */
export function readItems(items: readonly Item[], leftOut: string[]): Message[] {
  const messages: Message[] = [];
  let thoughts: string | undefined;
  /** Calls of the last message, while it is an assistant's. */
  let calls: ToolCall[] | undefined;
  const answered = answeredCalls(items);
  for (const [index, given] of items.entries()) {
    const item = isOther(given) ? asFunction(given, index, answered) : given;
    if (item === undefined) {
      if (!ELSEWHERE.test(given.type ?? '')) leftOut.push(`input[${index}]`);
      continue;
    }
    if (item.type === 'reasoning') {
      thoughts = [...(item.content ?? []), ...(item.content?.length ? [] : (item.summary ?? []))]
        .map(({ text = '' }) => text)
        .join('\n');
      calls = undefined;
      continue;
    }
    const reasoning = thoughts;
    thoughts = undefined;
    if (item.type === 'function_call') {
      if (calls === undefined) {
        const last = messages.at(-1);
        const before = last?.role === 'assistant' && reasoning === undefined ? messages.pop() : { reasoning };
        calls = [...((before as Partial<Message>).calls ?? [])];
        messages.push({ role: 'assistant', content: '', ...before, calls });
      }
      calls.push({ id: item.call_id, name: item.name, arguments: item.arguments });
      continue;
    }
    calls = undefined;
    if (item.type === 'function_call_output')
      messages.push({
        ...{ role: 'tool', content: resultText(item.output, `input[${index}].output`, leftOut), callId: item.call_id },
      });
    else {
      const role = parameters.roleOf(item.role, `input[${index}].role`);
      const content = plainText(item.content, `input[${index}].content`);
      messages.push({ role, content, ...(role === 'assistant' ? { reasoning } : {}) });
    }
  }
  return messages;
}
