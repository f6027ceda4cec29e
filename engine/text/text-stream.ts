import type { Tokenizer } from './tokenizer.ts';

/** Text as tokens come: whole characters only. */
export interface TextStream {
  /** The characters that end in this token. */
  add(token: number): string;
  /** What is left: a replacement character where the last one is incomplete. */
  finish(): string;
}

/**
 * Puts the bytes of tokens together: a character whose bytes are in several tokens appears with the last of them. Bytes
 * that are no UTF-8, which a model may well write, become U+FFFD.
 */
export function createTextStream(tokenizer: Pick<Tokenizer, 'bytesOf'>): TextStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    add: (token) => decoder.decode(tokenizer.bytesOf(token), { stream: true }),
    finish: () => decoder.decode(),
  };
}
