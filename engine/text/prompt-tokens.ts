import type { Gguf } from '../gguf/gguf.ts';
import { InputError } from '../input/input-error.ts';
import { chatPrompt } from './chat-prompt.ts';
import { startTemplateProcess } from './template-process.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface PromptText {
  /** The text to continue or, in a chat, the user's message. */
  readonly text: string;
  readonly chat: boolean;
  /** In a chat: the system message. */
  readonly system: string | undefined;
}

/**
 * The tokens of a prompt: of the text itself or, in a chat, of the conversation in the model's own template.
 * @throws InputError if there are none, and as chatPrompt does
 */
export async function promptTokens(gguf: Gguf, tokenizer: Tokenizer, prompt: PromptText): Promise<number[]> {
  const tokens = prompt.chat
    ? await chatTokens(gguf, tokenizer, prompt)
    : tokenizer.encode(prompt.text, { addSpecial: true, parseSpecial: true });
  if (tokens.length === 0) throw new InputError('--prompt', 'is empty; this model needs at least one token');
  return tokens;
}

async function chatTokens(gguf: Gguf, tokenizer: Tokenizer, { text, system }: PromptText): Promise<number[]> {
  const process = startTemplateProcess();
  const user = { role: 'user', content: text } as const;
  const messages = system === undefined ? [user] : [{ role: 'system', content: system } as const, user];
  try {
    return await chatPrompt({ gguf, tokenizer, process, messages });
  } finally {
    process.close();
  }
}
