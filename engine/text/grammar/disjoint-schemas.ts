import { canonicalText, isObject, WHOLE } from './schema-keys.ts';

/**
 * Whether no value matches two of the schemas: by their types, or by a property that both require with other constants.
 * Takes time in proportion to their length, and to a 32nd of their number.
 */
export function areDisjoint(schemas: readonly unknown[]): boolean {
  const words = Math.ceil(schemas.length / 32);
  const aspects = schemas.map(aspectsOf);
  /** By aspect: the schemas that have it, and by value those that allow the value in it. */
  const known = new Map<string, { readonly having: Uint32Array; readonly allowing: Map<string, Uint32Array> }>();
  for (const [index, own] of aspects.entries())
    for (const [aspect, values] of own) {
      const { having, allowing } = known.get(aspect) ?? { having: new Uint32Array(words), allowing: new Map() };
      known.set(aspect, { having, allowing });
      add(having, index);
      for (const value of values) {
        const set = allowing.get(value) ?? new Uint32Array(words);
        allowing.set(value, set);
        add(set, index);
      }
    }
  return aspects.every((own, index) => {
    const facts = Array.from(own, ([aspect, values]) => {
      const { having, allowing } = known.get(aspect) as NonNullable<ReturnType<typeof known.get>>;
      return { having, allowing: Array.from(values, (value) => allowing.get(value) as Uint32Array) };
    });
    for (let word = 0; word < words; word++) {
      /** The schemas, a bit each, that have no value in common with this one, which itself counts as well. */
      let apart = word === index >> 5 ? 1 << (index & 31) : 0;
      for (const { having, allowing } of facts) {
        let allowed = 0;
        for (const set of allowing) allowed |= set[word] as number;
        apart |= (having[word] as number) & ~allowed;
      }
      const beyond = Math.max(0, 32 * (word + 1) - schemas.length);
      if (apart << beyond !== -1 << beyond) return false;
    }
    return true;
  });
}

function add(set: Uint32Array, index: number): void {
  set[index >> 5] = (set[index >> 5] as number) | (1 << (index & 31));
}

/** Known facts about a schema's values: by aspect, the values that it may have in it, as texts. */
type Aspects = ReadonlyMap<string, ReadonlySet<string>>;

function aspectsOf(schema: unknown): Aspects {
  const aspects = new Map<string, ReadonlySet<string>>();
  const constants = constantsOf(schema);
  const types = constants === undefined ? statedTypes(schema) : constants.map(typeOf);
  if (types === undefined || !isObject(schema)) return aspects;
  aspects.set('type', new Set(types));
  if (constants !== undefined) aspects.set('value', new Set(constants.map(canonicalText)));
  else if (types.join() === 'object' && isObject(schema.properties) && Array.isArray(schema.required))
    for (const name of schema.required) {
      if (!Object.hasOwn(schema.properties, name)) continue;
      const own = constantsOf(schema.properties[name]);
      if (own !== undefined) aspects.set(`property ${name}`, new Set(own.map(canonicalText)));
    }
  return aspects;
}

/** Types that a schema names, integers as numbers; `undefined`: unknown. */
function statedTypes(schema: unknown): string[] | undefined {
  if (!isObject(schema) || schema.type === undefined || WHOLE.some((key) => key in schema)) return undefined;
  const listed = Array.isArray(schema.type) ? schema.type : [schema.type];
  return listed.map((type) => (type === 'integer' ? 'number' : String(type)));
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

function constantsOf(schema: unknown): readonly unknown[] | undefined {
  if (!isObject(schema)) return undefined;
  if ('const' in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}
