/** A thread that makes the states of forms, one after another. */

import { parentPort } from 'node:worker_threads';
import { InputError } from '../../input/input-error.ts';
import { type PackedStates, packStates } from './packed-states.ts';
import { SchemaError } from './schema-error.ts';
import { formStates, type TextForm } from './text-form.ts';

/** The states of a form, or why there are none: errors as data, which threads hand over without their class. */
export type MadeStates =
  | { readonly states: PackedStates; readonly ignored: readonly SchemaProblem[] }
  | { readonly schema: SchemaProblem }
  | { readonly input: Pick<InputError, 'where' | 'problem'> };

export type SchemaProblem = Pick<SchemaError, 'path' | 'kind' | 'problem' | 'tool'>;

parentPort?.on('message', (form: TextForm) => {
  const made = statesOf(form);
  parentPort?.postMessage(made, 'states' in made ? [made.states.buffer] : []);
});

function statesOf(form: TextForm): MadeStates {
  try {
    const { entry, ignored } = formStates(form);
    return { states: packStates(entry), ignored: ignored.map(dataOf) };
  } catch (error) {
    if (error instanceof SchemaError) return { schema: dataOf(error) };
    if (error instanceof InputError) return { input: { where: error.where, problem: error.problem } };
    throw error;
  }
}

function dataOf({ path, kind, problem, tool }: SchemaError): SchemaProblem {
  return { path, kind, problem, tool };
}
