import type { OpenedReasoning } from '../reasoning/reasoning.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { type Automaton, createAutomaton, type State } from './automaton.ts';
import { type AllowedCalls, callStates, textUntilCalls } from './call-states.ts';
import { gbnfStates } from './gbnf.ts';
import { createGrammar, type Grammar } from './grammar.ts';
import { createJsonRules, type JsonRules } from './json-rules.ts';
import { schemaStates } from './json-schema.ts';
import { checkSize } from './schema-bounds.ts';
import type { Relax, SchemaError } from './schema-error.ts';
import { textUntil } from './text-until.ts';
import { readTokenBytes, type TokenBytes } from './token-bytes.ts';

/** Required form of a text: one of these. */
export interface TextForm {
  /** A value that satisfies this JSON schema. */
  readonly schema?: unknown;
  /** Whether a schema that can't be held in all its parts is refused; otherwise such parts are left out. Default: false. */
  readonly isStrict?: boolean | undefined;
  /** A text of this grammar, in llama.cpp's notation (gbnf.ts), in place of a value. */
  readonly gbnf?: string | undefined;
  readonly calls?: AllowedCalls | undefined;
  /** Thoughts that may come before it. */
  readonly reasoning?: OpenedReasoning | undefined;
}

/** The grammars of texts that a model writes. */
export interface Grammars {
  /** Whether texts can be held to a form: the vocabulary has a token that ends them. */
  readonly canHold: boolean;
  /**
   * @throws SchemaError for malformed schemas, and for strict ones with something that is not supported; InputError for
   *   those that are too large and malformed grammars, GrammarError for those with which nothing can be begun in time
   */
  of(form: TextForm): HeldForm;
}

export interface HeldForm extends Grammar {
  /** Parts of schemas that texts aren't held to. */
  readonly ignored: readonly SchemaError[];
}

/** Grammars that are kept, with all that is known of them, for requests with the same form. */
const MOST_KEPT = 8;

/** The vocabulary is read when the first grammar is asked for. */
export function createGrammars(tokenizer: Pick<Tokenizer, 'size' | 'bytesOf' | 'stops'>): Grammars {
  let vocabulary: TokenBytes | undefined;
  const kept = new Map<string, HeldForm>();
  return {
    canHold: tokenizer.stops.size > 0,
    of(form) {
      for (const schema of [form.schema, ...(form.calls?.tools.map(({ parameters }) => parameters) ?? [])])
        checkSize(schema);
      const key = JSON.stringify(form);
      vocabulary ??= readTokenBytes(tokenizer);
      const held = kept.get(key) ?? heldForm(form, vocabulary);
      // A form with which nothing can be begun is refused here, rather than in a pass with other texts.
      held.allowed(held.start);
      kept.delete(key);
      kept.set(key, held);
      const [oldest] = kept.keys();
      if (kept.size > MOST_KEPT) kept.delete(oldest as string);
      return held;
    },
  };
}

function heldForm(form: TextForm, vocabulary: TokenBytes): HeldForm {
  const ignored = new Map<string, SchemaError>();
  const relax = (problem: SchemaError): void => void ignored.set(`${problem.tool} ${problem.path}`, problem);
  const grammar = createGrammar(entryOf(form, relax), vocabulary);
  return { ...grammar, ignored: [...ignored.values()] };
}

/** The automaton of a form. Tokenizers may begin a text with a space. */
function entryOf(form: TextForm, relax: Relax): State {
  const automaton = createAutomaton();
  const rules = createJsonRules(automaton);
  const answer = answerStates(automaton, rules, form, relax);
  return form.reasoning === undefined ? answer : thoughtsBefore(automaton, rules, form.reasoning, answer);
}

function answerStates(
  automaton: Automaton,
  rules: JsonRules,
  { schema, isStrict = false, gbnf, calls: given }: TextForm,
  relax: Relax,
): State {
  const end = automaton.end();
  const calls = given && { ...given, relax };
  if (gbnf !== undefined) {
    const text = gbnfStates(automaton, gbnf, end);
    if (calls === undefined) return text;
    return automaton.either([text, rules.space(callStates(automaton, rules, calls, end))]);
  }
  const values =
    schema === undefined ? [] : [schemaStates(automaton, rules, schema, end, isStrict ? undefined : relax)];
  if (calls === undefined) return rules.space(automaton.either(values));
  if (schema === undefined && !calls.isRequired) return textUntilCalls(automaton, rules, calls, end);
  return rules.space(automaton.either([...(calls.isRequired ? [] : values), callStates(automaton, rules, calls, end)]));
}

/** Thoughts, where the text has them, and then the answer. */
function thoughtsBefore(
  automaton: Automaton,
  { space }: JsonRules,
  { begin, end, leads, isOpened }: OpenedReasoning,
  answer: State,
): State {
  const { bytes, open, add } = automaton;
  const led = open();
  add(led, answer);
  for (const lead of leads) add(led, bytes(lead, led));
  const thoughts = textUntil(automaton, end, space(space(led)));
  // Thoughts may follow each other.
  const begun = space(bytes(begin, thoughts));
  add(led, begun);
  return isOpened ? thoughts : led;
}
