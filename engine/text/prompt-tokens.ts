import type { Gguf } from '../gguf/gguf.ts';
import { quoted } from '../gguf/gguf-error.ts';
import { InputError } from '../input/input-error.ts';
import { guardOf, unusedSigns } from './guarded-text.ts';
import type { Message } from './message.ts';
import { endsInThoughts, isUnclosed, type Reasoning, reasoningKeyOf } from './reasoning/reasoning.ts';
import { inTurns } from './slices.ts';
import { startTemplateProcess, TemplateError, type TemplateProcess } from './template-process.ts';
import type { Tokenizer } from './tokenizer.ts';
import { callFormOf, type Tool } from './tools/tool.ts';
import { type TemplateMessage, templateMessages, templateTools } from './tools/tool-messages.ts';

export interface PromptText {
  /** The text to continue or, in a chat, the user's message. */
  readonly text: string;
  readonly chat: boolean;
  /** In a chat: the system message. */
  readonly system: string | undefined;
}

const KEY = 'tokenizer.chat_template';

/** The model's chat template, if it has one. */
export function chatTemplate({ fields }: Gguf): string | undefined {
  return fields.optionalText(KEY);
}

/** The date that Llama 3.1's template falls back to, so that the same messages always give the same prompt. */
const DATE = '26 Jul 2024';

/**
 * The tokens of a prompt: of the text itself or, in a chat, of the conversation in the model's own template.
 * @throws InputError if there are none, and as chatTokens does
 */
export async function promptTokens(
  gguf: Gguf,
  tokenizer: Tokenizer,
  { text, chat, system }: PromptText,
): Promise<number[]> {
  const user = { role: 'user', content: text } as const;
  const messages = system === undefined ? [user] : [{ role: 'system', content: system } as const, user];
  const tokens = chat
    ? await chatTokens(gguf, tokenizer, messages)
    : tokenizer.encode(text, { addSpecial: true, parseSpecial: true });
  if (tokens.length === 0) throw new InputError('--prompt', 'is empty; this model needs at least one token');
  return tokens;
}

export interface ChatOptions {
  /** Tools that the model may call. */
  readonly tools?: readonly Tool[];
  /** Process that renders the template. Default: one for this conversation alone. */
  readonly templates?: TemplateProcess;
  /** The marks of the model's thoughts; `undefined`: it has none. */
  readonly reasoning?: Reasoning | undefined;
  /** Variables of the template in addition to those that it always has. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** The prompt of a conversation that awaits an answer. */
export interface ChatPrompt {
  readonly tokens: readonly number[];
  /** Whether it ends within thoughts, so that the answer begins with more of them. */
  readonly isThinking: boolean;
}

/** The tokens of a conversation that awaits an answer, as chatPrompt has them. @throws InputError as chatPrompt does */
export async function chatTokens(gguf: Gguf, tokenizer: Tokenizer, messages: readonly Message[]): Promise<number[]> {
  return [...(await chatPrompt(gguf, tokenizer, messages)).tokens];
}

/**
 * The prompt of a conversation that awaits an answer: the messages as written by the model's own template (Jinja), and
 * the beginning of the assistant's turn or, where the last message is the assistant's, that message without its end.
 * Only the template's own marks become control tokens; those in messages are text. Where the template rejects a system
 * message, as Gemma's and older ones of Mistral do, its text begins the user's next message, and where it wants roles to
 * alternate, neighbours of one role become one message. The token at the beginning
 * of a text occurs once, whether the template or the tokenizer adds it.
 * @throws InputError for a file without a template, for one that is malformed or exceeds a bound (template-process.ts),
 *   and if it rejects the messages
 */
export async function chatPrompt(
  gguf: Gguf,
  tokenizer: Tokenizer,
  messages: readonly Message[],
  { tools = [], templates, reasoning, variables = {} }: ChatOptions = {},
): Promise<ChatPrompt> {
  const { fields } = gguf;
  const source = fields.optionalText(KEY);
  if (source === undefined) return fields.fail(KEY, 'is missing; this model has no chat template: leave out --chat');
  const [begin, end] = [tokenizer.begin, tokenizer.end].map((id) => (id === undefined ? '' : tokenizer.spell(id)));
  const form = callFormOf(source);
  const signs = await inTurns(unusedSigns([messages, tools, variables]));
  const guard = guardOf(tokenizer, signs.guard, reasoning);
  const { turns, answer } = withoutAnswer(messages);
  const known = {
    variables: await inTurns(guard.values(variables)),
    tools: form.isTaught ? await inTurns(guard.values(templateTools(tools))) : [],
  };
  const process = templates ?? startTemplateProcess();
  const render = async (own: readonly TemplateMessage[], isAnswered: boolean): Promise<string | TemplateError> => {
    try {
      return await process.render(source, {
        ...known.variables,
        messages: own,
        ...(known.tools.length > 0 ? { tools: known.tools } : {}),
        add_generation_prompt: !isAnswered,
        bos_token: begin,
        eos_token: end,
        date_string: DATE,
      });
    } catch (error) {
      if (error instanceof TemplateError) return error;
      throw error;
    }
  };
  const accepted = async (own: readonly Message[], isAnswered = false): Promise<string | TemplateError> => {
    const guarded = await inTurns(guard.messages(templateMessages(own, tools, form, reasoningKeyOf(source))));
    const first = await render(guarded, isAnswered);
    if (typeof first === 'string' || first.kind !== 'refused') return first;
    let before = guarded;
    for (const fewer of [inTurnsOfRoles(guarded, 1), inTurnsOfRoles(guarded, 0)]) {
      if (fewer.length === before.length) continue;
      before = fewer;
      const text = await render(fewer, isAnswered);
      if (typeof text === 'string') return text;
    }
    return first;
  };
  /** The prompt and, at its end, the beginning of the answer, if there is one. */
  const written = async (): Promise<string | TemplateError> => {
    if (answer === undefined) return accepted(turns);
    const isThinking = reasoning !== undefined && isUnclosed(answer.content, reasoning);
    if (!isThinking) {
      const text = await accepted([...turns, { ...answer, content: answer.content + signs.end }], true);
      if (typeof text === 'string' && text.includes(signs.end)) return text.slice(0, text.lastIndexOf(signs.end));
    }
    const text = await accepted(turns);
    if (typeof text !== 'string') return text;
    const [message] = await inTurns(guard.messages([{ ...answer, role: 'assistant' }]));
    const content = message?.content ?? '';
    const isRepeated = isThinking && endsInThoughts(text, reasoning);
    return text + (isRepeated ? content.trimStart().slice(reasoning.begin.length).trimStart() : content);
  };
  const text = await written().finally(() => {
    if (templates === undefined) process.close();
  });
  if (text instanceof TemplateError) {
    if (text.kind === 'refused') return fields.fail(KEY, `does not accept this conversation: ${quoted(text.message)}`);
    return fields.fail(KEY, `exceeds a bound: ${text.message}; leave out --chat and write the turns yourself`);
  }
  const tokens = await tokenizer.encodeInTurns(text, { addSpecial: 'begin', parseSpecial: true, guard: signs.guard });
  const isThinking =
    reasoning !== undefined &&
    (answer === undefined ? endsInThoughts(text, reasoning) : isUnclosed(answer.content, reasoning));
  return { tokens, isThinking };
}

/** The messages before the answer that is to be continued, and its beginning, if there is one. */
function withoutAnswer(messages: readonly Message[]): {
  readonly turns: readonly Message[];
  readonly answer: Message | undefined;
} {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || (last.calls ?? []).length > 0) return { turns: messages, answer: undefined };
  return { turns: messages.slice(0, -1), answer: last.content === '' ? undefined : last };
}

/**
 * Messages for templates that reject some: system messages after the first few become a part of the message before or,
 * if that isn't the user's, of the user's message after; and neighbours of one role become one message.
 * @param systems system messages that stay, at the beginning
 */
function inTurnsOfRoles(messages: readonly TemplateMessage[], systems: number): TemplateMessage[] {
  const kept: TemplateMessage[] = [];
  for (const message of messages) {
    const last = kept.at(-1);
    const isKept = message.role !== 'system' || (kept.length === 0 && systems > 0);
    const role = isKept ? message.role : last?.role === 'system' ? 'system' : 'user';
    const isJoined = last?.role === role && role !== 'tool' && last.tool_calls === undefined;
    if (!isJoined) kept.push({ ...message, role });
    else kept.splice(-1, 1, { ...last, ...message, role, content: joined(last.content, message.content) });
  }
  return kept;
}

function joined(...texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}
