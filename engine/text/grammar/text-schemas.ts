import type { State } from './automaton.ts';
import type { Counted, JsonRules } from './json-rules.ts';
import { CHARACTERS, type Expression, PatternError } from './patterns/expression.ts';
import { NUMBER_FORMATS, TEXT_FORMATS } from './patterns/formats.ts';
import { parsePattern } from './patterns/parse-pattern.ts';
import { type Relax, SchemaError } from './schema-error.ts';
import { at, countedOf, isOnly, type Schema } from './schema-keys.ts';

const NONE_LEFT = 'leaves no text together with the other keys, or too many ways to write one';

/** The texts that schemas allow, by length, pattern, format and what they may not be. */
export interface TextSchemas {
  /** The states of a text between its quotation marks. */
  states(schema: Schema, path: string, next: State): State;
  /** The texts of a schema of texts, as propertyNames is. */
  texts(schema: Schema, path: string): Expression;
  /** The texts that a pattern matches; `undefined` where they can't be held. */
  pattern(pattern: string, path: string): Expression | undefined;
}

/** Reads the texts of one schema's parts. @param leaveOut what becomes of parts that can't be held */
export function createTextSchemas(rules: JsonRules, leaveOut: Relax): TextSchemas {
  const expressions = rules.expressions;
  return { states, texts, pattern };

  function states(schema: Schema, path: string, next: State): State {
    const length = countedOf(schema, path, 'Length');
    const { format } = schema;
    if (isTextFormat(format) && !('pattern' in schema) && !('not' in schema)) {
      const whole = rules.format(format, next, length);
      if (whole !== undefined) return whole;
      unsupported(at(path, 'maxLength' in schema ? 'maxLength' : 'minLength'), NONE_LEFT);
      return rules.format(format, next) as State;
    }
    const held = textParts(schema, path);
    if (held.length === 0) return rules.text(length, next);
    const found = matching(held, next, length);
    if (found !== undefined) return found;
    const free = matching(held, next);
    if (free !== undefined) {
      unsupported(at(path, 'maxLength' in schema ? 'maxLength' : 'minLength'), NONE_LEFT);
      return free;
    }
    for (const key of ['pattern', 'format', 'not'].filter((one) => one in schema))
      unsupported(at(path, key), 'leaves no text, or too many ways to write one; make it simpler');
    return isTextFormat(format) ? (rules.format(format, next) as State) : rules.text(length, next);
  }

  /** The texts of a length that expressions have in common; `undefined` if there are none, or too many ways to write one. */
  function matching(parts: readonly Expression[], next: State, length?: Counted): State | undefined {
    try {
      return rules.matching(expressions.both(parts), next, length);
    } catch (error) {
      if (error instanceof PatternError) return undefined;
      throw error;
    }
  }

  /** The texts with this many characters. */
  function ofLength({ least, most }: Counted): Expression {
    return expressions.repeat(expressions.character(CHARACTERS), least, most);
  }

  function pattern(source: string, path: string): Expression | undefined {
    return held(path, () => parsePattern(expressions, source));
  }

  /** An expression; `undefined` where it can't be held. */
  function held(path: string, make: () => Expression): Expression | undefined {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      unsupported(path, `${error.message}, which is not supported; leave it out`);
      return undefined;
    }
  }

  /** The texts that pattern, format and not leave, for each that can be held. */
  function textParts(schema: Schema, path: string): Expression[] {
    const parts: (Expression | undefined)[] = [];
    const add = (key: string, own: unknown): void => {
      if (typeof own !== 'string') throw new SchemaError(at(path, key), 'invalid', 'must be a text');
      parts.push(pattern(own, at(path, key)));
    };
    if (schema.pattern !== undefined) add('pattern', schema.pattern);
    const { format } = schema;
    if (isTextFormat(format)) add('format', TEXT_FORMATS[format]);
    else if (typeof format === 'string' && !NUMBER_FORMATS.includes(format)) {
      const supported = Object.keys(TEXT_FORMATS).join(', ');
      unsupported(at(path, 'format'), `"${format.slice(0, 40)}" is not supported; supported: ${supported}`);
    }
    const { not } = schema;
    if (isOnly(not, 'const') || isOnly(not, 'enum')) {
      const listed = constantTexts(not);
      const others = (): Expression => expressions.not(expressions.any(listed.map(expressions.text)));
      if (listed.length > 0) parts.push(held(at(path, 'not'), others));
    }
    return parts.filter((part) => part !== undefined);
  }

  /** The texts of a schema of texts, as propertyNames is. */
  function texts(schema: Schema, path: string): Expression {
    const listed =
      'enum' in schema || 'const' in schema ? [expressions.any(constantTexts(schema).map(expressions.text))] : [];
    return expressions.both([...listed, ofLength(countedOf(schema, path, 'Length')), ...textParts(schema, path)]);
  }

  function unsupported(path: string, problem: string): void {
    leaveOut(new SchemaError(path, 'unsupported', problem));
  }
}

function isTextFormat(format: unknown): format is string {
  return typeof format === 'string' && Object.hasOwn(TEXT_FORMATS, format);
}

/** The texts that const or enum list. */
function constantTexts(schema: Schema): string[] {
  const values: readonly unknown[] = 'const' in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : [];
  return values.filter((value) => typeof value === 'string');
}
