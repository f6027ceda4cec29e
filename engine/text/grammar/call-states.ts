import { CALL_TAGS, type CallForm, type Tool } from '../tools/tool.ts';
import type { Automaton, State } from './automaton.ts';
import type { JsonRules } from './json-rules.ts';
import { schemaStates } from './json-schema.ts';
import { type Relax, SchemaError } from './schema-error.ts';
import { isObject, WHOLE } from './schema-keys.ts';
import { gaps, textUntil } from './text-until.ts';

/** The calls that a text may have. */
export interface AllowedCalls {
  readonly tools: readonly Pick<Tool, 'name' | 'parameters'>[];
  readonly form: Pick<CallForm, 'kind' | 'key'>;
  /** Whether the text must be calls. */
  readonly isRequired: boolean;
  /** Whether there may be several. */
  readonly several: boolean;
  /** Treatment of parts of the tools' schemas that can't be held; by default they are thrown. */
  readonly relax?: Relax | undefined;
}

/** One call or, where several are allowed and have tags, some. */
export function callStates(automaton: Automaton, rules: JsonRules, calls: AllowedCalls, then: State): State {
  if (calls.form.kind === 'bare') return objectOf(automaton, rules, calls, then);
  return automaton.bytes(CALL_TAGS.begin, callsAfterTag(automaton, rules, calls, then));
}

/** The same after the tag with which the first one begins. */
function callsAfterTag(automaton: Automaton, rules: JsonRules, calls: AllowedCalls, then: State): State {
  const { open, add, bytes } = automaton;
  const after = open();
  const call = rules.space(objectOf(automaton, rules, calls, rules.space(bytes(CALL_TAGS.end, after))));
  add(after, then);
  if (calls.several) add(after, rules.space(bytes(CALL_TAGS.begin, call)));
  return call;
}

function objectOf(automaton: Automaton, rules: JsonRules, { tools, form, relax }: AllowedCalls, then: State): State {
  return automaton.either(
    tools.map((tool, index) => oneCall(automaton, rules, { tool, index, key: form.key, relax }, then)),
  );
}

interface OneCall {
  readonly tool: AllowedCalls['tools'][number];
  readonly index: number;
  readonly key: string;
  readonly relax: Relax | undefined;
}

function oneCall(
  automaton: Automaton,
  { space, ...rules }: JsonRules,
  { tool, index, key, relax }: OneCall,
  then: State,
): State {
  const { bytes } = automaton;
  const member = (name: string, value: State): State => bytes(JSON.stringify(name), space(bytes(':', space(value))));
  try {
    const schema = objectSchema(tool.parameters);
    const ofTool = relax && ((problem: SchemaError) => relax(withTool(problem, index)));
    const given = schemaStates(automaton, { space, ...rules }, schema, space(bytes('}', then)), ofTool);
    const name = bytes(JSON.stringify(tool.name), space(bytes(',', space(member(key, given)))));
    return bytes('{', space(member('name', name)));
  } catch (error) {
    if (error instanceof SchemaError) throw withTool(error, index);
    throw error;
  }
}

function withTool({ path, kind, problem }: SchemaError, index: number): SchemaError {
  return new SchemaError(path, kind, problem, index);
}

/** The schema of arguments. @throws SchemaError for arguments that may be something else than an object */
function objectSchema(parameters: unknown): unknown {
  if (!isObject(parameters)) throw new SchemaError('', 'invalid', 'must be a schema, an object');
  if (parameters.type === 'object') return parameters;
  if (parameters.type === undefined && !WHOLE.some((key) => key in parameters))
    return { ...parameters, type: 'object' };
  throw new SchemaError('type', 'invalid', 'must be "object"; arguments are an object');
}

/**
 * Any text, which may end anywhere. Where it has the tag of a call and the begin of its object, a call follows; a tag
 * before something else is text.
 */
export function textUntilCalls(automaton: Automaton, rules: JsonRules, calls: AllowedCalls, then: State): State {
  const mention = automaton.open();
  const plain = textUntil(automaton, CALL_TAGS.begin, mention);
  automaton.add(plain, then);
  automaton.add(mention, callsAfterTag(automaton, rules, calls, then));
  automaton.add(mention, then);
  const after = automaton.byte(
    [
      ...SPACES.map((byte) => [byte, byte, mention] as const),
      ...gaps([...SPACES, OPENING]).map(([low, high]) => [low, high, plain] as const),
    ],
    { takesControls: true },
  );
  automaton.add(mention, after);
  return plain;
}

const SPACES = [0x09, 0x0a, 0x0d, 0x20];
/** The brace of an object. */
const OPENING = 0x7b;
