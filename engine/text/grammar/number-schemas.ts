import type { Automaton, State } from './automaton.ts';
import type { JsonRules } from './json-rules.ts';
import { isHeldStep, MOST_DECIMALS, MOST_STEP, numbersWithin } from './number-ranges.ts';
import { type Relax, SchemaError } from './schema-error.ts';
import { at, boundsOf, type Schema } from './schema-keys.ts';

/** The states of a number that a schema allows, by bounds and what it must be a multiple of. */
export type NumberStates = (type: 'number' | 'integer', schema: Schema, path: string, next: State) => State;

/** Reads the numbers of one schema's parts. @param leaveOut what becomes of parts that can't be held */
export function createNumberStates(automaton: Automaton, rules: JsonRules, leaveOut: Relax): NumberStates {
  /** Numbers within bounds, since schemas have the same again and again. */
  const numbers = new Map<string, State | undefined>();
  return states;

  function states(type: 'number' | 'integer', schema: Schema, path: string, next: State): State {
    const bounds = boundsOf(schema, path);
    const step = stepOf(schema, path);
    if (bounds.least === -Infinity && bounds.most === Infinity && step === undefined) return rules[type](next);
    const name = [type, ...Object.values(bounds), step].join();
    if (!numbers.has(name)) {
      const digits = { decimals: type === 'integer' ? 0 : MOST_DECIMALS, step };
      numbers.set(name, numbersWithin(automaton, bounds, digits, automaton.end()));
    }
    const found = numbers.get(name);
    if (found !== undefined) return automaton.call(found, next);
    const key = bounds.least === -Infinity ? 'maximum' : 'minimum';
    throw new SchemaError(
      at(path, key),
      'unsupported',
      `leaves no ${type} that this server can write; widen the bounds`,
    );
  }

  /** Number that values must be multiples of; `undefined`: none. */
  function stepOf({ multipleOf: step }: Schema, path: string): number | undefined {
    if (step === undefined) return undefined;
    if (typeof step !== 'number' || !(step > 0))
      throw new SchemaError(at(path, 'multipleOf'), 'invalid', 'must be a number above 0');
    if (isHeldStep(step)) return step;
    const problem = `must be a whole number up to ${MOST_STEP}, or such a part of 1 as 0.5 or 0.25`;
    leaveOut(new SchemaError(at(path, 'multipleOf'), 'unsupported', problem));
    return undefined;
  }
}
