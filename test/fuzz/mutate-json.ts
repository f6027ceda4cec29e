import type { RandomStream } from '../../engine/input/random-stream.ts';

/** A value of a JSON file. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Values that readers often mishandle, in place of any other. */
const VALUES: readonly Json[] = [
  ...[null, true, 0, -1, 1, 0.5, 2, 4097, 2 ** 31, 2 ** 53, 1e21, 1e308, -1e308, 5e-324],
  ...['', ' ', '0', '__proto__', 'constructor', '\0', 'a\nb', '\ud800', 'x'.repeat(5000)],
  ...['4 GB', '4 GiB', '-4 GB', '1e400 GB', '1e-400 s', '0 B', '5 ms', '5 furlongs', '1/0 GB/s', 'NaN GB', '2^64 GB'],
  ...['GB', '4 GB 4', '4 GB/s/s', '(4) GB', 'sqrt(4) GB', '4 GB; 5', '[1,2] GB', '10 GFLOPS', '1 W', '100 °C'],
  ...[[], {}, [[]], [{}], [null], { value: 1 }, { value: '4 GB', from: 'measured' }],
];
const KEYS = ['', '__proto__', 'constructor', 'toString', 'value', 'name', 'devices', 'x'.repeat(300)];
/** Deepest nesting and longest list that a mutation makes. */
const DEEPEST = 10_000;
const LONGEST = 2000;

/**
 * One change of what a JSON file says, at a random place: another value, one from `other`, a removed, renamed or added
 * key, a removed, repeated or nested item, a scaled number, a quantity in another unit.
 */
export function mutateJson(value: Json, other: Json, random: RandomStream): Json {
  return at(value, random, (found, parent) => {
    switch (random.integer(0, 9)) {
      case 0:
      case 1:
        return random.pick(VALUES);
      case 2:
        return subtree(other, random);
      case 3:
        return nested(
          found,
          random.integer(0, 49) === 0 ? DEEPEST : random.pick([1, 2, 100]),
          random.integer(0, 1) === 1,
        );
      case 4:
        return withoutOne(found, random);
      case 5:
        return withOne(found, random);
      case 6:
        return renamed(found, random);
      case 7:
        return Array.isArray(found) ? repeated(found, random) : subtree(parent, random);
      default:
        return scaled(found, random);
    }
  });
}

/**
 * Whether a value has at most so many parts and characters. Lists that are repeated and repeated again share their items,
 * and would be written out for minutes.
 */
function isWithin(value: Json, most: number): boolean {
  let left = most;
  const waiting: Json[] = [value];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    left -= typeof one === 'string' ? 1 + one.length : 1;
    if (left < 0) return false;
    for (const [key, child] of childrenOf(one)) {
      left -= key.length;
      waiting.push(child);
    }
  }
  return true;
}

/** Parts and characters of what is written out. */
const MOST = 2 ** 22;

/**
 * A value as text; in place of one that is too large, a long string, and of one that is nested deeper than JSON.stringify
 * goes, one that is nested deeper still.
 */
export function jsonText(json: Json, indent = 0): string {
  try {
    return isWithin(json, MOST) ? JSON.stringify(json, null, indent) : '{"prompt":"'.padEnd(MOST, 'a');
  } catch {
    return '[{"devices":'.repeat(100_000);
  }
}

/** Replaces a random part of a value by what `change` makes of it. */
function at(value: Json, random: RandomStream, change: (found: Json, parent: Json) => Json, parent = value): Json {
  const children = childrenOf(value);
  if (children.length === 0 || random.integer(0, 4) === 0) return change(value, parent);
  const [key, child] = random.pick(children);
  const changed = at(child, random, change, value);
  if (Array.isArray(value)) return value.map((item: Json, index) => (String(index) === key ? changed : item));
  return Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, name === key ? changed : one]));
}

function childrenOf(value: Json): [string, Json][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function subtree(value: Json, random: RandomStream): Json {
  const children = childrenOf(value);
  if (children.length === 0 || random.integer(0, 2) === 0) return value;
  return subtree(random.pick(children)[1], random);
}

function nested(value: Json, depth: number, lists: boolean): Json {
  let outer = value;
  for (let level = 0; level < depth; level++) outer = lists ? [outer] : { value: outer };
  return outer;
}

function withoutOne(value: Json, random: RandomStream): Json {
  const children = childrenOf(value);
  if (children.length === 0) return null;
  const [gone] = random.pick(children);
  if (Array.isArray(value)) return value.filter((_, index) => String(index) !== gone);
  return Object.fromEntries(children.filter(([key]) => key !== gone));
}

function withOne(value: Json, random: RandomStream): Json {
  if (Array.isArray(value)) return [...value, random.pick(VALUES)];
  if (typeof value !== 'object' || value === null) return [value];
  return ownEntries([...Object.entries(value), [random.pick(KEYS), random.pick(VALUES)]]);
}

function renamed(value: Json, random: RandomStream): Json {
  const children = childrenOf(value);
  if (children.length === 0 || Array.isArray(value)) return value;
  const [old] = random.pick(children);
  const misspelt = `${old.slice(1)}${old.slice(0, 1)}`;
  const name = random.pick([misspelt, old.toUpperCase(), random.pick(KEYS)]);
  return ownEntries(children.map(([key, one]) => [key === old ? name : key, one]));
}

/** Entries as own properties, `__proto__` included, as JSON.parse makes them. */
function ownEntries(entries: readonly (readonly [string, Json])[]): Json {
  return Object.fromEntries(entries);
}

function repeated(value: readonly Json[], random: RandomStream): Json {
  const times = random.pick([2, 2, 3, 3, 100, LONGEST]);
  return Array.from(
    { length: Math.min(LONGEST, times * value.length) },
    (_, index) => value[index % value.length] ?? 0,
  );
}

function scaled(value: Json, random: RandomStream): Json {
  const factor = random.pick([0, -1, 0.5, 2, 1024, 1e9, 1e-9, 1e300]);
  if (typeof value === 'number') return value * factor;
  if (typeof value !== 'string') return value;
  const unit = random.pick(['B', 'KiB', 'GB', 'GiB', 'GB/s', 'Gbps', 's', 'ms', 'us', 'TFLOPS', 'W', '']);
  const [number = '1'] = value.split(' ');
  return random.integer(0, 1) === 0
    ? `${number} ${unit}`
    : `${Number.parseFloat(number) * factor} ${value.split(' ')[1]}`;
}
