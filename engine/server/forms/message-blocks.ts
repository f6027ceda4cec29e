import { z } from 'zod';
import { readValue } from '../../input/complaint.ts';
import type { Message } from '../../text/message.ts';
import type { ToolCall } from '../../text/tools/tool.ts';
import { ApiError } from '../api-error.ts';
import { contentOf, resultText, textOf } from './content.ts';
import * as parameters from './parameters.ts';

/** A message of Anthropic's API: a text, or blocks. `system`: instructions in the course of a conversation. */
export const blockMessage = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union(
    [z.string(), parameters.list(z.looseObject({ type: z.string() }), parameters.MOST_MESSAGES)],
    'must be a text, or a list of blocks of type "text", "document", "search_result", "tool_use" or "tool_result"',
  ),
});

const text = z.looseObject({ text: z.string() });
/** A document whose text is sent with it, or as blocks of text. */
const textDocument = z.looseObject({
  source: z.union(
    [
      z.looseObject({ type: z.literal('text'), data: z.string() }),
      z.looseObject({ type: z.literal('content'), content: textOf('text') }),
    ],
    'must be of type "text" with "data", or of type "content" with "content": other files are not read here',
  ),
  title: z.string().nullish(),
  context: z.string().nullish(),
});
const found = z.looseObject({ source: z.string(), title: z.string(), content: textOf('text') });
/** Blocks that only the server that wrote them can use. */
const ELSEWHERE = /^(?:redacted_thinking|server_tool_use|\w+_tool_result|mcp_tool_use|container_upload)$/;

/** Kept as it is: a record would lose a property `__proto__`. */
const anyObject = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
);
const thought = z.looseObject({ thinking: z.string() });
const use = z.looseObject({ id: z.string(), name: z.string(), input: anyObject });
const result = z.looseObject({ tool_use_id: z.string(), content: contentOf('text').optional() });

/**
 * The messages that one of Anthropic's stands for: what tools returned, and then its text with its calls.
 * @param leftOut takes the places of what the model isn't told
 * @throws ApiError 400 for blocks that are malformed or not supported
 */
export function readBlocks(
  { role, content }: z.output<typeof blockMessage>,
  index: number,
  leftOut: string[] = [],
): Message[] {
  if (typeof content === 'string') return [{ role, content }];
  const texts: string[] = [];
  const calls: ToolCall[] = [];
  const results: Message[] = [];
  let reasoning = '';
  for (const [number, block] of content.entries()) {
    const where = `messages[${index}].content[${number}]`;
    if (block.type === 'text') texts.push(parsed(text, block, where).text);
    else if (block.type === 'document' && role === 'user') {
      const { source, title, context } = parsed(textDocument, block, where);
      texts.push(titled([title, context], source.type === 'text' ? source.data : source.content));
    } else if (block.type === 'search_result' && role === 'user') {
      const { source, title, content: passage } = parsed(found, block, where);
      texts.push(titled([title, source], passage));
    } else if (block.type === 'tool_use' && role === 'assistant') {
      const { id, name, input } = parsed(use, block, where);
      calls.push({ id, name, arguments: JSON.stringify(input) });
    } else if (block.type === 'thinking' && role === 'assistant') {
      reasoning += parsed(thought, block, where).thinking;
    } else if (ELSEWHERE.test(block.type)) {
      // Blocks of another server, which ran tools or locked thoughts.
    } else if (block.type === 'tool_result' && role === 'user') {
      const { tool_use_id: callId, content: returned = [] } = parsed(result, block, where);
      results.push({ role: 'tool', content: resultText(returned, `${where}.content`, leftOut), callId });
    } else {
      const problem = `is of type "${block.type.slice(0, 40)}", which is not supported here; send text`;
      throw new ApiError(400, `${where}: ${problem}`, where, 'invalid_value');
    }
  }
  if (texts.length === 0 && calls.length === 0 && results.length > 0) return results;
  const more = { ...(calls.length > 0 ? { calls } : {}), ...(reasoning === '' ? {} : { reasoning }) };
  return [...results, { role, content: texts.join(''), ...more }];
}

/** A document as text: what is known of it on lines of their own, and then what it says. */
function titled(heads: readonly (string | null | undefined)[], body: string): string {
  return `${[...heads.filter((head) => head), body].join('\n')}\n\n`;
}

function parsed<Shape extends z.ZodObject>(shape: Shape, block: unknown, where: string): z.output<Shape> {
  const read = readValue(shape, block);
  if ('value' in read) return read.value;
  const { place, problem } = read.complaint;
  throw new ApiError(400, `${where}.${place}: ${problem}`, where, 'invalid_value');
}
