import { createAutomaton } from '../../../engine/text/grammar/automaton.ts';
import { createGrammar, type Grammar } from '../../../engine/text/grammar/grammar.ts';
import { createJsonRules } from '../../../engine/text/grammar/json-rules.ts';
import { schemaStates } from '../../../engine/text/grammar/json-schema.ts';
import { hasToken, readTokenBytes, type TokenBytes } from '../../../engine/text/grammar/token-bytes.ts';
import { atOnce } from '../../../engine/text/slices.ts';

/** The token that ends a text; those before it are bytes. */
export const END = 256;

/** A vocabulary of all bytes, and of longer tokens after the end. */
export function vocabularyOf(longer: readonly string[] = []): TokenBytes {
  const more = longer.map((text) => new TextEncoder().encode(text));
  const bytesOf = (token: number): Uint8Array =>
    token === END ? new Uint8Array(0) : (more[token - END - 1] ?? Uint8Array.of(token));
  return atOnce(readTokenBytes({ size: END + 1 + longer.length, bytesOf, stops: new Set([END]) }));
}

export const BYTES = vocabularyOf();

export function grammarOf(schema: unknown, vocabulary = BYTES): Grammar {
  const automaton = createAutomaton();
  const entry = schemaStates(automaton, createJsonRules(automaton), schema, automaton.end());
  return atOnce(createGrammar(entry, vocabulary));
}

/** Whether a text can be written byte by byte and end there. */
export function accepts(grammar: Grammar, text: string): boolean {
  let situation = grammar.start;
  for (const byte of new TextEncoder().encode(text)) {
    if (!hasToken(grammar.allowed(situation), byte)) return false;
    situation = grammar.after(situation, byte);
  }
  return hasToken(grammar.allowed(situation), END);
}

/**
 * Writes a text of random tokens, which ends as soon as it may once it has `eager` of them, and prefers what closes.
 * @returns `undefined` if it has not ended after 2000
 */
export function randomText(
  grammar: Grammar,
  vocabulary: TokenBytes,
  next: () => number,
  eager: number,
): string | undefined {
  const bytes: number[] = [];
  let situation = grammar.start;
  for (let count = 0; count < 2000; count++) {
    const allowed = grammar.allowed(situation);
    const tokens = Array.from({ length: vocabulary.size }, (_, token) => token).filter((token) =>
      hasToken(allowed, token),
    );
    const own = tokens.filter((token) => token !== END);
    if (tokens.includes(END) && (count >= eager || own.length === 0 || next() < 0.5))
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    const closing = own.filter((token) => /^["}\]]$/.test(String.fromCharCode(...vocabulary.bytesOf(token))));
    const chosen = count >= eager && closing.length > 0 ? closing : own;
    const token = chosen[Math.floor(next() * chosen.length)] as number;
    bytes.push(...vocabulary.bytesOf(token));
    situation = grammar.after(situation, token);
  }
  return undefined;
}
