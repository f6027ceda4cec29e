import type { Tokenizer } from '../tokenizer.ts';
import { type Automaton, createAutomaton, type State } from './automaton.ts';
import { createGrammar, type Grammar } from './grammar.ts';
import { createJsonRules } from './json-rules.ts';
import { checkSize, schemaStates } from './json-schema.ts';
import { readTokenBytes, type TokenBytes } from './token-bytes.ts';

/** What a text must be. */
export interface TextForm {
  /** A JSON schema, which its value satisfies. */
  readonly schema: unknown;
}

/** The grammars of texts that a model writes. */
export interface Grammars {
  /** Whether texts can be held to a form: the vocabulary has a token that ends them. */
  readonly canHold: boolean;
  /**
   * @throws SchemaError for schemas with something that is not supported; InputError for those that are too large,
   *   GrammarError for those with which nothing can be begun in time
   */
  of(form: TextForm): Grammar;
}

/** Grammars that are kept, with all that is known of them, for requests with the same form. */
const MOST_KEPT = 8;

/** The vocabulary is read when the first grammar is asked for. */
export function createGrammars(tokenizer: Pick<Tokenizer, 'size' | 'bytesOf' | 'stops'>): Grammars {
  let vocabulary: TokenBytes | undefined;
  const kept = new Map<string, Grammar>();
  return {
    canHold: tokenizer.stops.size > 0,
    of(form) {
      checkSize(form.schema);
      const key = JSON.stringify(form);
      vocabulary ??= readTokenBytes(tokenizer);
      const grammar = kept.get(key) ?? createGrammar(entryOf(form), vocabulary);
      kept.delete(key);
      kept.set(key, grammar);
      const [oldest] = kept.keys();
      if (kept.size > MOST_KEPT) kept.delete(oldest as string);
      return grammar;
    },
  };
}

/** The automaton of a form. Tokenizers may begin a text with a space. */
function entryOf({ schema }: TextForm): State {
  const automaton: Automaton = createAutomaton();
  const rules = createJsonRules(automaton);
  return rules.space(schemaStates(automaton, rules, schema, automaton.end()));
}
