import { CommanderError } from 'commander';
import { errorLine } from '../input/error-line.ts';
import { InputError } from '../input/input-error.ts';

/** A command can't go on, for a reason that its message names and that is no defect: exit code 1. */
export class StoppedError extends Error {}

/** Errors of the operating system that the user can remedy, and what they mean. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; free some space and run the same command again',
  EDQUOT: 'the quota of the disk is used up; free some space and run the same command again',
  EFBIG: 'the file has reached the largest size that is allowed here (ulimit -f)',
  EROFS: "the file system can't be written to; give a path on another one",
  EACCES: 'permission denied; give another path',
  EMFILE: 'too many open files; raise the limit (ulimit -n)',
  EIO: 'the disk reports an error',
};

/** What an error of the operating system means, in one line; `undefined` for other errors. */
function remedyOf(error: unknown): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException;
  const remedy = code === undefined ? undefined : REMEDIES[code];
  return remedy === undefined ? undefined : `${path === undefined ? '' : `${path}: `}${remedy} (${code})`;
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
  const remedy = error instanceof Error ? remedyOf(error) : undefined;
  if (remedy !== undefined) {
    process.stderr.write(`${errorLine(remedy)}\n`);
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
