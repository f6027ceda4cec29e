import { CommanderError } from 'commander';
import { errorLine } from '../input/error-line.ts';
import { InputError } from '../input/input-error.ts';
import { remedyOf } from '../input/system-error.ts';

/** A command can't go on, for a reason that its message names and that is no defect: exit code 1. */
export class StoppedError extends Error {}

/** The remedy of an error of the operating system, with the path that it names; `undefined` for other errors. */
function problemOf(error: Error): string | undefined {
  const { path } = error as NodeJS.ErrnoException;
  const remedy = remedyOf(error);
  return remedy === undefined || path === undefined ? remedy : `${path}: ${remedy}`;
}

/**
 * Prints an error as one line on stderr.
 * @param name the command's name, for the message
 * @returns the exit code: 2 for bad input (options, of commander and of parseArgs, files, values) and for what the operating system refuses, 1 for a
 * defect of Hearth and a StoppedError, 0 if commander stopped after --help
 */
export function reportError(error: unknown, name: string): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    process.stderr.write(`${errorLine(error.message).replace(/^error: |\.$/g, '')}; see ${name} --help\n`);
    return 2;
  }
  if (error instanceof Error && /^ERR_PARSE_ARGS_/.test((error as NodeJS.ErrnoException).code ?? '')) {
    // The first sentence: what follows is advice on how to write arguments that begin with a dash.
    process.stderr.write(`${errorLine(error.message).replace(/\. .*|\.$/, '')}; see ${name} --help\n`);
    return 2;
  }
  if (error instanceof InputError) {
    process.stderr.write(`${errorLine(error.message)}\n`);
    return 2;
  }
  if (error instanceof StoppedError) {
    process.stderr.write(`${name} stopped: ${errorLine(error.message)}\n`);
    return 1;
  }
  const problem = error instanceof Error ? problemOf(error) : undefined;
  if (problem !== undefined) {
    process.stderr.write(`${errorLine(problem)}\n`);
    return 2;
  }
  const message = error instanceof Error ? error.message : String(error);
  const where =
    error instanceof Error ? /\/((?:engine|simulator|experiments|datasets)\/[^\s)]+)/.exec(error.stack ?? '')?.[1] : '';
  process.stderr.write(`${name} failed: ${errorLine(message)}${where ? ` (${where})` : ''}; please report this\n`);
  return 1;
}

/**
 * Ends the process when its output can't be written: with code 0 where the reader of stdout has closed the pipe, as in
 * `… | head`, otherwise with code 2 and a line that says why. Without a stderr it goes on: servers outlive their logs.
 */
export function stopWithoutOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`stdout: ${remedyOf(error) ?? errorLine(error.message)}\n`);
    process.exit(2);
  });
  process.stderr.on('error', () => {});
}
