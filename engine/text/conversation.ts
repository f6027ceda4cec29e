import type { Gguf } from '../gguf/gguf.ts';
import { InputError } from '../input/input-error.ts';
import { type Generated, type GenerateOptions, generate, type LanguageModel, type Speculation } from './generate.ts';
import type { Message } from './message.ts';
import { chatTokens } from './prompt-tokens.ts';
import type { Tokenizer } from './tokenizer.ts';

/** A model whose context can be taken back to an earlier token. */
export interface RewindableModel extends LanguageModel {
  /** Tokens in the KV cache. */
  readonly position: number;
  rewind(position: number): void;
}

export interface ConversationParts {
  readonly gguf: Gguf;
  readonly tokenizer: Tokenizer;
  readonly model: RewindableModel;
  readonly system: string | undefined;
  /** Makes what guesses at an answer's tokens, given those of the conversation that the KV cache has. */
  readonly speculation?: ((earlier: readonly number[]) => Speculation | undefined) | undefined;
}

export interface Answer extends Generated {
  /** Tokens of the conversation that had to be evaluated for it. */
  readonly promptTokens: number;
}

/** A conversation with a model, turn by turn. */
export interface Conversation {
  /**
   * Answers a message. Only tokens are evaluated that the KV cache doesn't have from earlier turns.
   * @throws InputError if the conversation doesn't fit into the context, or the template refuses it; the message is then
   * forgotten
   */
  say(text: string, options: Pick<GenerateOptions, 'tokens' | 'sampler' | 'signal' | 'onText'>): Promise<Answer>;
  /** Forgets all turns. */
  forget(): void;
}

/** Begins a conversation in the model's own chat template. */
export function createConversation(parts: ConversationParts): Conversation {
  const { gguf, tokenizer, model, system } = parts;
  const begin: readonly Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
  let messages = begin;
  /** Tokens that the KV cache holds. */
  let cached: readonly number[] = [];

  return {
    forget() {
      messages = begin;
    },
    async say(text, options) {
      const turns: readonly Message[] = [...messages, { role: 'user', content: text }];
      const prompt = await chatTokens(gguf, tokenizer, turns);
      const room = model.contextLength - prompt.length;
      if (room < 1) {
        const has = `${prompt.length} tokens, and the context has room for ${model.contextLength}`;
        throw new InputError('conversation', `it has ${has}; begin a new one, or give a longer --context`);
      }
      // One token at least is evaluated, for its logits.
      const known = Math.min(commonLength(cached, prompt), prompt.length - 1, model.position);
      model.rewind(known);
      const generated = await generate({
        ...options,
        model,
        tokenizer,
        speculation: parts.speculation?.(prompt.slice(0, known)),
        prompt: prompt.slice(known),
        tokens: Math.min(options.tokens, room),
      });
      cached = [...prompt, ...generated.tokens].slice(0, model.position);
      messages = [...turns, { role: 'assistant', content: generated.text }];
      return { ...generated, promptTokens: prompt.length - known };
    },
  };
}

/** The number of tokens at the beginning that two lists share. */
function commonLength(one: readonly number[], other: readonly number[]): number {
  const different = one.findIndex((token, index) => token !== other[index]);
  return different < 0 ? one.length : different;
}
