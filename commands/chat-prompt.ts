import type { Gguf } from '../engine/gguf/gguf.ts';
import type { Message } from '../engine/text/message.ts';
import { type ChatPrompt, chatPrompt } from '../engine/text/prompt-tokens.ts';
import type { Reasoning } from '../engine/text/reasoning/reasoning.ts';
import { startTemplateProcess } from '../engine/text/template-process.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import type { Tool } from '../engine/text/tools/tool.ts';

/** Prompts of conversations, one after another. */
export interface ChatPrompts {
  /** @throws InputError as chatPrompt does */
  of(
    messages: readonly Message[],
    tools?: readonly Tool[],
    variables?: Readonly<Record<string, unknown>>,
  ): Promise<ChatPrompt>;
  close(): void;
}

/** All conversations are rendered by one process, since its start takes longer than most answers to a cached prompt. */
export function createChatPrompts(gguf: Gguf, tokenizer: Tokenizer, reasoning: Reasoning | undefined): ChatPrompts {
  const templates = startTemplateProcess();
  let last: Promise<unknown> = Promise.resolve();
  return {
    of(messages, tools = [], variables = {}) {
      const found = last.then(() => chatPrompt(gguf, tokenizer, messages, { tools, templates, reasoning, variables }));
      last = found.catch(() => {});
      return found;
    },
    close: templates.close,
  };
}
