import type { Gguf } from '../gguf/gguf.ts';
import { chatTokens, type Message } from '../text/prompt-tokens.ts';
import { startTemplateProcess, type TemplateProcess } from '../text/template-process.ts';
import type { Tokenizer } from '../text/tokenizer.ts';

/** Tokens of conversations, one after another. */
export interface ChatPrompt {
  /** @throws InputError as chatTokens does */
  tokens(messages: readonly Message[]): Promise<readonly number[]>;
  close(): void;
}

/** A process for the next conversation is kept ready, so that nobody waits for its start; more than one never renders. */
export function createChatPrompt(gguf: Gguf, tokenizer: Tokenizer): ChatPrompt {
  let ready: TemplateProcess | undefined = startTemplateProcess();
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const render = async (messages: readonly Message[]): Promise<readonly number[]> => {
    try {
      return await chatTokens(gguf, tokenizer, messages, () => ready ?? startTemplateProcess());
    } finally {
      ready = closed ? undefined : startTemplateProcess();
    }
  };
  return {
    tokens(messages) {
      const found = last.then(() => render(messages));
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
