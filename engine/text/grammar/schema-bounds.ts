import type { Slices } from '../slices.ts';
import { SchemaError } from './schema-error.ts';

/** Bounds that no schema written by hand reaches, far below those at which reading it would take long. */
export const MOST_DEPTH = 64;
const MOST_LEVELS = 4 * MOST_DEPTH;
export const MOST_SCHEMA_CHARACTERS = 2 ** 17;

/**
 * Checks a schema before anything walks through it: its text has many characters or levels only if it is hostile.
 * @throws SchemaError
 */
export function* checkSize(root: unknown): Slices<void> {
  let level: readonly object[] = isNested(root) ? [root] : [];
  for (let depth = 0; level.length > 0; depth++) {
    const next: object[] = [];
    for (const one of level)
      for (const value of Object.values(one)) {
        if (depth === MOST_LEVELS)
          throw new SchemaError('', 'invalid', `is nested deeper than ${MOST_LEVELS} levels of JSON`);
        if (isNested(value)) next.push(value);
      }
    level = next;
    yield;
  }
  const { length } = JSON.stringify(root) ?? '';
  if (length > MOST_SCHEMA_CHARACTERS)
    throw new SchemaError('', 'invalid', `has ${length} characters; at most ${MOST_SCHEMA_CHARACTERS} are read`);
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** @throws SchemaError for references that lead to themselves without saying anything */
export function checkLeads(leads: ReadonlyMap<string, ReadonlySet<string>>): void {
  const left = new Map([...leads].map(([name, next]) => [name, new Set(next)]));
  const before = new Map<string, string[]>();
  for (const [name, next] of left)
    for (const other of next) {
      const names = before.get(other) ?? [];
      before.set(other, names);
      names.push(name);
    }
  /** Removes names that lead nowhere until none is left, or only names that lead to each other are. */
  const ends = [...before.keys()].filter((name) => !left.has(name));
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    for (const name of before.get(end) ?? []) {
      const next = left.get(name) as Set<string>;
      next.delete(end);
      if (next.size > 0) continue;
      left.delete(name);
      ends.push(name);
    }
  }
  const [name] = left.keys();
  if (name === undefined) return;
  throw new SchemaError('$ref', 'invalid', `"${name.slice(0, 100)}" leads to itself without a value between`);
}
