import type { OpenedReasoning } from '../reasoning/reasoning.ts';
import { type Automaton, createAutomaton, type State } from './automaton.ts';
import { type AllowedCalls, callStates, textUntilCalls } from './call-states.ts';
import { gbnfStates } from './gbnf.ts';
import { createJsonRules, type JsonRules } from './json-rules.ts';
import { schemaStates } from './json-schema.ts';
import type { Relax, SchemaError } from './schema-error.ts';
import type { CountWork } from './short-work.ts';
import { textUntil } from './text-until.ts';

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

/** The automaton of a form. */
export interface FormStates {
  readonly entry: State;
  /** Parts of schemas that are not enforced. */
  readonly ignored: readonly SchemaError[];
}

/**
 * The states of a form. Tokenizers may begin a text with a space.
 * @param countWork called with the steps that this takes
 * @throws SchemaError for malformed schemas, and for strict ones with something that is not supported; InputError for
 *   those that are too large and malformed grammars
 */
export function formStates(form: TextForm, countWork?: CountWork): FormStates {
  const ignored = new Map<string, SchemaError>();
  const relax = (problem: SchemaError): void => void ignored.set(`${problem.tool} ${problem.path}`, problem);
  const automaton = createAutomaton(countWork);
  const rules = createJsonRules(automaton);
  const answer = answerStates(automaton, rules, form, relax);
  const entry = form.reasoning === undefined ? answer : thoughtsBefore(automaton, rules, form.reasoning, answer);
  return { entry, ignored: [...ignored.values()] };
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
