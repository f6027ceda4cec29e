import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ownModule } from '../../gguf/own-module.ts';
import { InputError } from '../../input/input-error.ts';
import { inTurns } from '../slices.ts';
import { unpackStates } from './packed-states.ts';
import { SchemaError } from './schema-error.ts';
import type { MadeStates, SchemaProblem } from './states-thread.ts';
import type { FormStates, TextForm } from './text-form.ts';

/** Milliseconds without work after which the thread ends and its memory is freed. */
const IDLE = 30_000;

/**
 * Makes the states of forms, one at a time, in a thread that starts with the first of them.
 * @returns as formStates; rejects with its errors, and once the signal fires, which ends the thread and its work
 */
export function createLongFormStates(): (form: TextForm, signal: AbortSignal) => Promise<FormStates> {
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  const end = (): void => {
    void thread?.terminate();
    thread = undefined;
  };
  return async (form, signal) => {
    signal.throwIfAborted();
    clearTimeout(idle);
    thread ??= startThread();
    // It keeps the process alive only while it works.
    thread.ref();
    thread.postMessage(form);
    let made: MadeStates;
    try {
      [made] = (await once(thread, 'message', { signal })) as [MadeStates];
    } catch (error) {
      end();
      throw error;
    }
    thread.unref();
    idle = setTimeout(end, IDLE).unref();
    if ('schema' in made) throw errorOf(made.schema);
    if ('input' in made) throw new InputError(made.input.where, made.input.problem);
    return { entry: await inTurns(unpackStates(made.states), signal), ignored: made.ignored.map(errorOf) };
  };
}

function startThread(): Worker {
  const { path, execArgv } = ownModule(new URL('./states-thread.ts', import.meta.url));
  const module = `import(${JSON.stringify(pathToFileURL(path).href)})`;
  if (execArgv.length === 0) return new Worker(module, { eval: true });
  // A thread's first file can't be TypeScript.
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  return new Worker(`import(${tsx}).then(({ register }) => { register(); return ${module}; })`, { eval: true });
}

function errorOf({ path, kind, problem, tool }: SchemaProblem): SchemaError {
  return new SchemaError(path, kind, problem, tool);
}
