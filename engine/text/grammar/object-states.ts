import type { Automaton, State } from './automaton.ts';
import type { JsonRules } from './json-rules.ts';
import type { Expression, Expressions } from './patterns/expression.ts';
import { SchemaError } from './schema-error.ts';
import { at, countedOf, isObject, type Schema } from './schema-keys.ts';

/** Context that the states of objects need of those of other values. */
export interface ObjectContext {
  readonly automaton: Automaton;
  readonly rules: JsonRules;
  /** The states of a property's value, whose schema is under a key of the object's. */
  value(schema: unknown, key: string, next: State): State;
  /** The texts of a schema of texts, as far as they can be held. */
  textsOf(schema: Schema, path: string): Expression;
  pattern(pattern: string, path: string): Expression | undefined;
  /** Leaves out a part of the schema, or refuses it. */
  leaveOut(problem: SchemaError): void;
}

const LONGEST_KEY = 256;
/** Names of an object that may have others as well: those are spelled out as texts that are none of these. */
const MOST_NAMES_OF_OPEN = 1000;
/** Most properties that are counted. */
const MOST_COUNTED = 64;

interface Property {
  readonly name: string;
  readonly isRequired: boolean;
  value(next: State): State;
}

/** Writes a property that is not listed: its name, and its value. */
type Other = (next: State) => State;

/** Properties in their order, those that aren't required or left out, and then others, if there may be any. */
export function objectStates(context: ObjectContext, schema: Schema, path: string, next: State): State {
  const { automaton, rules } = context;
  const { bytes, either } = automaton;
  const { space } = rules;
  const properties = listedProperties(context, schema, path);
  const others = otherProperties(context, schema, path, properties);
  const comma = (member: State): State => space(bytes(',', space(member)));
  const member = ({ name, value }: Property, then: State): State =>
    bytes(JSON.stringify(name), space(bytes(':', space(value(then)))));
  const close = space(bytes('}', next));
  const counted = countedProperties(context, schema, path, { properties, others: others.length });
  if (counted !== undefined) {
    const found = countedStates(counted);
    if (found !== undefined) return bytes('{', found);
    const key = schema.minProperties === undefined ? 'maxProperties' : 'minProperties';
    const problem = others.length > 0 ? 'counts names that may be equal; list them in properties' : 'leaves no object';
    context.leaveOut(new SchemaError(at(path, key), 'unsupported', problem));
  }
  /** States after a property, and after the brace. */
  let [after, first] = [close, close];
  if (others.length > 0) {
    after = automaton.open();
    const own = either(others.map((other) => other(after)));
    automaton.add(after, close);
    automaton.add(after, comma(own));
    first = either([close, space(own)]);
  }
  for (const property of properties.toReversed()) {
    const own = member(property, after);
    first = either([space(own), ...(property.isRequired ? [] : [first])]);
    after = either([comma(own), ...(property.isRequired ? [] : [after])]);
  }
  return bytes('{', first);

  /** The same with a number of properties. Of others only one counts as more, since their names may be equal. */
  function countedStates({ least, most }: { readonly least: number; readonly most: number }): State | undefined {
    const known = new Map<string, State | undefined>();
    const made = (key: string, make: () => State | undefined): State | undefined => {
      automaton.spend(1);
      if (!known.has(key)) known.set(key, make());
      return known.get(key);
    };
    const begun = (count: number, own: State): State => (count === 0 ? space(own) : comma(own));
    const oneOf = (states: readonly (State | undefined)[]): State | undefined => {
      const found = states.filter((state) => state !== undefined);
      return found.length === 0 ? undefined : either(found);
    };
    /** Others after this many properties; `isSure`: there are enough. */
    const rest = (count: number, isSure: boolean): State | undefined =>
      made(`rest ${count} ${isSure}`, () => {
        const isLast = count >= most;
        const nextCount = most === Number.POSITIVE_INFINITY ? Math.max(count, 1) : count + 1;
        const further = automaton.open();
        if (isLast || others.length === 0 || (!isSure && count + 1 < least)) return isSure ? close : undefined;
        const own = begun(count, either(others.map((other) => other(further))));
        automaton.add(further, nextCount === count && isSure ? either([close, own]) : (rest(nextCount, true) as State));
        return oneOf([isSure ? close : undefined, own]);
      });
    const from = (index: number, count: number): State | undefined =>
      made(`${index} ${count}`, () => {
        const property = properties[index];
        if (property === undefined) return rest(count, count >= least);
        const then = count < most ? from(index + 1, count + 1) : undefined;
        return oneOf([
          then && begun(count, member(property, then)),
          property.isRequired ? undefined : from(index + 1, count),
        ]);
      });
    return from(0, 0);
  }
}

/** Properties with schemas, and required ones without. */
function listedProperties(context: ObjectContext, schema: Schema, path: string): Property[] {
  const { rules, leaveOut } = context;
  const { properties = {}, required = [], additionalProperties } = schema;
  if (!isObject(properties)) throw new SchemaError(at(path, 'properties'), 'invalid', 'must be an object of schemas');
  if (!(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    throw new SchemaError(at(path, 'required'), 'invalid', 'must be a list of property names');
  const isWritable = (name: string): boolean => {
    if (name.length <= LONGEST_KEY) return true;
    const problem = `has a name of over ${LONGEST_KEY} characters`;
    leaveOut(new SchemaError(at(path, 'properties'), 'unsupported', problem));
    return false;
  };
  const requiredNames = new Set<string>(required);
  const property = (name: string, own: unknown, key: string): Property => ({
    ...{ name, isRequired: requiredNames.has(name) },
    value: rules.rule((end) => context.value(own, key, end)),
  });
  const listed = Object.entries(properties)
    .filter(([name]) => isWritable(name))
    .map(([name, own]) => property(name, own, `properties.${name}`));
  const names = patternsOf(context, schema, path);
  for (const name of requiredNames) {
    if (Object.hasOwn(properties, name) || !isWritable(name)) continue;
    const pattern = names.find(({ texts }) => matches(context.rules.expressions, texts, name));
    if (pattern !== undefined) listed.push(property(name, pattern.schema, pattern.key));
    else if (additionalProperties === false)
      leaveOut(new SchemaError(at(path, 'required'), 'invalid', `has "${name}", which properties lacks`));
    else listed.push(property(name, additionalProperties ?? true, 'additionalProperties'));
  }
  // Each of a few names that alone are allowed is written once at most.
  const known = new Set(listed.map(({ name }) => name));
  if (names.length === 0 && isOpen(schema, listed, names))
    for (const name of namesListed(schema))
      if (!known.has(name) && isWritable(name))
        listed.push(property(name, additionalProperties ?? true, 'additionalProperties'));
  return allowedNames(context, schema, path, listed);
}

/** The names that propertyNames lists; none if it has another form, or more than an object's others may have. */
function namesListed({ propertyNames }: Schema): readonly string[] {
  const names: readonly unknown[] =
    isObject(propertyNames) && Array.isArray(propertyNames.enum) ? propertyNames.enum : [];
  return names.length > MOST_NAMES_OF_OPEN ? [] : [...new Set(names.filter((one) => typeof one === 'string'))];
}

/**
 * Whether properties that are neither listed nor of a pattern may be written: unless additionalProperties says it, where
 * a schema says nothing of properties.
 */
function isOpen(schema: Schema, listed: readonly Property[], patterns: readonly PatternProperty[]): boolean {
  if (schema.additionalProperties !== undefined) return schema.additionalProperties !== false;
  return listed.length === 0 && patterns.length === 0 && !('properties' in schema);
}

/** Names that propertyNames allows. */
function allowedNames(
  context: ObjectContext,
  { propertyNames }: Schema,
  path: string,
  properties: readonly Property[],
): Property[] {
  if (!isObject(propertyNames)) return [...properties];
  const names = context.textsOf(propertyNames, at(path, 'propertyNames'));
  return properties.filter(({ name, isRequired }) => {
    if (matches(context.rules.expressions, names, name)) return true;
    if (isRequired)
      context.leaveOut(new SchemaError(at(path, 'required'), 'invalid', `has "${name}", which propertyNames forbids`));
    return false;
  });
}

interface PatternProperty {
  readonly texts: Expression;
  readonly schema: unknown;
  readonly key: string;
}

function patternsOf({ pattern }: ObjectContext, { patternProperties }: Schema, path: string): PatternProperty[] {
  if (patternProperties === undefined) return [];
  if (!isObject(patternProperties))
    throw new SchemaError(at(path, 'patternProperties'), 'invalid', 'must be an object of schemas');
  return Object.entries(patternProperties).flatMap(([source, schema]) => {
    const key = `patternProperties.${source}`;
    const texts = pattern(source, at(path, key));
    return texts === undefined ? [] : [{ texts, schema, key }];
  });
}

/** Other properties that may be written: those of patterns, and those of additionalProperties. */
function otherProperties(
  context: ObjectContext,
  schema: Schema,
  path: string,
  properties: readonly Property[],
): Other[] {
  const { automaton, rules, leaveOut } = context;
  const texts = rules.expressions;
  const { additionalProperties, propertyNames } = schema;
  const patterns = patternsOf(context, schema, path);
  for (const { name } of properties)
    if (isObject(schema.properties) && Object.hasOwn(schema.properties, name))
      for (const pattern of patterns)
        if (matches(texts, pattern.texts, name))
          leaveOut(
            new SchemaError(at(path, pattern.key), 'unsupported', `matches "${name}", which has a schema already`),
          );
  const names = properties.map(({ name }) => name);
  const hasRules = patterns.length > 0 || isObject(propertyNames);
  const forbidden = hasRules ? texts.any(names.map(texts.text)) : texts.none;
  const allowed = isObject(propertyNames) ? context.textsOf(propertyNames, at(path, 'propertyNames')) : texts.all;
  const written = (name: Expression, own: unknown, key: string): Other[] => {
    const value = rules.rule((end) => rules.space(automaton.bytes(':', rules.space(context.value(own, key, end)))));
    const names = texts.both([allowed, texts.not(forbidden), name]);
    if (rules.matching(names, automaton.end()) === undefined) return [];
    return [(next) => rules.matching(names, value(next)) as State];
  };
  const excluding = (index: number): Expression =>
    texts.not(texts.any(patterns.filter((_, other) => other !== index).map((pattern) => pattern.texts)));
  const ofPatterns = patterns.flatMap((pattern, index) =>
    pattern.schema === false ? [] : written(texts.both([pattern.texts, excluding(index)]), pattern.schema, pattern.key),
  );
  if (!isOpen(schema, properties, patterns)) return ofPatterns;
  if (properties.length > MOST_NAMES_OF_OPEN) {
    const problem = `is not supported together with more than ${MOST_NAMES_OF_OPEN} names; make it false`;
    throw new SchemaError(at(path, 'additionalProperties'), 'unsupported', problem);
  }
  const further = additionalProperties ?? true;
  if (hasRules) return [...ofPatterns, ...written(excluding(-1), further, 'additionalProperties')];
  const value = rules.rule((end) =>
    rules.space(automaton.bytes(':', rules.space(context.value(further, 'additionalProperties', end)))),
  );
  return [(next) => rules.otherText(names, value(next))];
}

/** The numbers of properties that an object may have; `undefined` where its schema leaves no others. */
function countedProperties(
  { leaveOut }: ObjectContext,
  schema: Schema,
  path: string,
  { properties, others }: { readonly properties: readonly Property[]; readonly others: number },
): { readonly least: number; readonly most: number } | undefined {
  const counted = countedOf(schema, path, 'Properties');
  const required = properties.filter(({ isRequired }) => isRequired).length;
  const mostWritten = others > 0 ? Number.POSITIVE_INFINITY : properties.length;
  if (counted.least <= required && counted.most >= mostWritten) return undefined;
  if (counted.least <= MOST_COUNTED && (counted.most <= MOST_COUNTED || counted.most === Number.POSITIVE_INFINITY))
    return counted;
  const key = counted.least > MOST_COUNTED ? 'minProperties' : 'maxProperties';
  leaveOut(new SchemaError(at(path, key), 'unsupported', `is more than ${MOST_COUNTED}, the most that is counted`));
  return undefined;
}

function matches({ derivative }: Expressions, texts: Expression, name: string): boolean {
  return Array.from(name).reduce((now, letter) => derivative(now, letter.codePointAt(0) as number), texts).hasEmpty;
}
