import { createHash } from 'node:crypto';
import type { Message } from '../message.ts';
import { CALL_TAGS, type CallForm, type Tool, type ToolCall } from './tool.ts';

/** Tools as chat templates have them. */
export function templateTools(tools: readonly Tool[]): object[] {
  return tools.map(({ name, description = '', parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

/** A message as chat templates have it. */
export interface TemplateMessage {
  readonly role: string;
  readonly content: string;
  /** Name of the tool, for a result. */
  readonly name?: string | undefined;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
  /** Thoughts, under the key that the template knows. */
  readonly [reasoningKey: string]: unknown;
}

/** Messages as chat templates have them: calls and results as they know them, or as text if they don't. */
export function templateMessages(
  messages: readonly Message[],
  tools: readonly Tool[],
  { isTaught, hasShortIds }: Pick<CallForm, 'isTaught' | 'hasShortIds'>,
  reasoningKey?: string,
): TemplateMessage[] {
  const idOf = hasShortIds ? shortId : (id: string) => id;
  const written = messages.map((message) => {
    const known = isTaught ? knownMessage(message, idOf) : writtenMessage(message);
    const { reasoning = '' } = message;
    return reasoningKey === undefined || reasoning === '' ? known : { ...known, [reasoningKey]: reasoning };
  });
  if (isTaught) return written;
  if (tools.length === 0) return written;
  const [first] = written;
  const text = describe(tools);
  if (first?.role !== 'system') return [{ role: 'system', content: text }, ...written];
  return [{ role: 'system', content: `${first.content}\n\n${text}` }, ...written.slice(1)];
}

function knownMessage(
  { role, content, calls = [], callId = '', name }: Message,
  idOf: (id: string) => string,
): TemplateMessage {
  if (role === 'tool') return { role, content, name, tool_call_id: idOf(callId) };
  if (calls.length === 0) return { role, content };
  const toolCalls = calls.map(({ id, name: called, arguments: own }) => ({
    ...{ id: idOf(id), type: 'function' },
    function: { name: called, arguments: JSON.parse(own) as unknown },
  }));
  return { role, content, tool_calls: toolCalls };
}

const SHORT_ID = /^[A-Za-z0-9]{9}$/;

/** The id itself where it has nine letters and digits; otherwise nine that follow from it. */
function shortId(id: string): string {
  if (SHORT_ID.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

function writtenMessage({ role, content, calls = [] }: Message): TemplateMessage {
  if (role === 'tool') return { role: 'user', content: `<tool_response>\n${content}\n</tool_response>` };
  return { role, content: [content, ...calls.map(writtenCall)].filter((part) => part !== '').join('\n') };
}

function writtenCall({ name, arguments: own }: Pick<ToolCall, 'name' | 'arguments'>): string {
  return `${CALL_TAGS.begin}\n{"name": ${JSON.stringify(name)}, "arguments": ${own}}\n${CALL_TAGS.end}`;
}

function describe(tools: readonly Tool[]): string {
  return [
    'You can call functions, each with the JSON schema of its arguments:',
    ...tools.map(({ name, description, parameters }) => JSON.stringify({ name, description, parameters })),
    'To call one, write this and nothing after it:',
    writtenCall({ name: 'NAME', arguments: '{…}' }),
    'Its result comes between <tool_response> and </tool_response>.',
  ].join('\n');
}
