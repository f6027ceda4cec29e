import { writeFileSync } from 'node:fs';
import { InputError } from '../input/input-error.ts';
import { perfettoTrace } from '../trace/perfetto.ts';
import type { Trace } from '../trace/trace.ts';

/** Writes a trace for ui.perfetto.dev. @throws InputError where the file can't be written */
export function writeTrace(path: string, trace: Trace): void {
  try {
    writeFileSync(path, JSON.stringify(perfettoTrace(trace)));
  } catch (error) {
    throw new InputError(path, `can't be written (${(error as Error).message})`);
  }
}
