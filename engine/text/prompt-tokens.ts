import type { Gguf } from '../gguf/gguf.ts';
import { quoted } from '../gguf/gguf-error.ts';
import { InputError } from '../input/input-error.ts';
import type { Message } from './message.ts';
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
  /** Those that the model may call. */
  readonly tools?: readonly Tool[];
  /** What renders. Default: a process for this conversation alone. */
  readonly templates?: TemplateProcess;
}

/**
 * The tokens of a conversation that awaits an answer: the messages as written by the model's own template (Jinja), and
 * the beginning of the assistant's turn. Where the template rejects a system message, as Gemma's and older ones of Mistral
 * do, its text begins the user's first message. The token at the beginning of a text occurs once, whether the template or
 * the tokenizer adds it.
 * @throws InputError for a file without a template, for one that is malformed or exceeds a bound (template-process.ts),
 *   and if it rejects the messages
 */
export async function chatTokens(
  gguf: Gguf,
  tokenizer: Tokenizer,
  messages: readonly Message[],
  { tools = [], templates }: ChatOptions = {},
): Promise<number[]> {
  const { fields } = gguf;
  const source = fields.optionalText(KEY);
  if (source === undefined) return fields.fail(KEY, 'is missing; this model has no chat template: leave out --chat');
  const [begin, end] = [tokenizer.begin, tokenizer.end].map((id) => (id === undefined ? '' : tokenizer.spell(id)));
  const form = callFormOf(source);
  const turns = templateMessages(messages, tools, form);
  const process = templates ?? startTemplateProcess();
  const render = async (own: readonly TemplateMessage[]): Promise<string | TemplateError> => {
    try {
      return await process.render(source, {
        messages: own,
        ...(form.isTaught && tools.length > 0 ? { tools: templateTools(tools) } : {}),
        add_generation_prompt: true,
        bos_token: begin,
        eos_token: end,
        date_string: DATE,
      });
    } catch (error) {
      if (error instanceof TemplateError) return error;
      throw error;
    }
  };
  const accepted = async (): Promise<string | TemplateError> => {
    const first = await render(turns);
    const isSystemRefused = first instanceof TemplateError && first.kind === 'refused' && turns[0]?.role === 'system';
    const second = isSystemRefused ? await render(withoutSystem(turns)) : first;
    return typeof second === 'string' ? second : first;
  };
  const text = await accepted().finally(() => {
    if (templates === undefined) process.close();
  });
  if (text instanceof TemplateError) {
    if (text.kind === 'refused') return fields.fail(KEY, `does not accept this conversation: ${quoted(text.message)}`);
    return fields.fail(KEY, `exceeds a bound: ${text.message}; leave out --chat and write the turns yourself`);
  }
  const tokens = await tokenizer.encodeInTurns(text, { parseSpecial: true });
  if (tokenizer.addsBegin && tokenizer.begin !== undefined && tokens[0] !== tokenizer.begin)
    tokens.unshift(tokenizer.begin);
  return tokens;
}

function withoutSystem([system, ...others]: readonly TemplateMessage[]): TemplateMessage[] {
  const [next] = others;
  const content = system?.content ?? '';
  if (next?.role !== 'user') return [{ role: 'user', content }, ...others];
  return [{ ...next, content: `${content}\n\n${next.content}` }, ...others.slice(1)];
}
