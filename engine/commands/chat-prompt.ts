import type { Gguf } from '../gguf/gguf.ts';
import type { Message } from '../text/message.ts';
import { chatTokens } from '../text/prompt-tokens.ts';
import { startTemplateProcess, type TemplateProcess } from '../text/template-process.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import type { Tool } from '../text/tools/tool.ts';

/** Tokens of conversations, one after another. */
export interface ChatPrompt {
  /** @throws InputError as chatTokens does */
  tokens(messages: readonly Message[], tools?: readonly Tool[]): Promise<readonly number[]>;
  close(): void;
}

/** A process for the next conversation is kept ready, so that nobody waits for its start; more than one never renders. */
export function createChatPrompt(gguf: Gguf, tokenizer: Tokenizer): ChatPrompt {
  let ready: TemplateProcess | undefined = startTemplateProcess();
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const render = async (messages: readonly Message[], tools: readonly Tool[]): Promise<readonly number[]> => {
    try {
      return await chatTokens(gguf, tokenizer, messages, { tools, start: () => ready ?? startTemplateProcess() });
    } finally {
      ready = closed ? undefined : startTemplateProcess();
    }
  };
  return {
    tokens(messages, tools = []) {
      const found = last.then(() => render(messages, tools));
      last = found.catch(() => {});
      return found;
    },
    close() {
      closed = true;
      ready?.close();
      ready = undefined;
    },
  };
}
