import type { Gguf } from '../gguf/gguf.ts';
import type { Message } from '../text/message.ts';
import { chatTokens } from '../text/prompt-tokens.ts';
import { startTemplateProcess } from '../text/template-process.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import type { Tool } from '../text/tools/tool.ts';

/** Tokens of conversations, one after another. */
export interface ChatPrompt {
  /** @throws InputError as chatTokens does */
  tokens(messages: readonly Message[], tools?: readonly Tool[]): Promise<readonly number[]>;
  close(): void;
}

/** All conversations are rendered by one process, since its start takes longer than most answers to a cached prompt. */
export function createChatPrompt(gguf: Gguf, tokenizer: Tokenizer): ChatPrompt {
  const templates = startTemplateProcess();
  let last: Promise<unknown> = Promise.resolve();
  return {
    tokens(messages, tools = []) {
      const found = last.then(() => chatTokens(gguf, tokenizer, messages, { tools, templates }));
      last = found.catch(() => {});
      return found;
    },
    close: templates.close,
  };
}
