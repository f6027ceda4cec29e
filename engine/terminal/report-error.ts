import { CommanderError } from 'commander';
import { InputError } from '../input/input-error.ts';

/**
 * Prints an error as one line on stderr.
 * @param name the command's name, for the message
 * @returns the exit code: 2 for bad input (options, files, values), 1 for a defect of Hearth, 0 if commander only stopped
 * after --help
 */
export function reportError(error: unknown, name: string): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    process.stderr.write(`${oneLine(error.message).replace(/^error: |\.$/g, '')}; see ${name} --help\n`);
    return 2;
  }
  if (error instanceof InputError) {
    process.stderr.write(`${oneLine(error.message)}\n`);
    return 2;
  }
  const message = error instanceof Error ? error.message : String(error);
  const where =
    error instanceof Error ? /\/((?:engine|simulator|experiments|datasets)\/[^\s)]+)/.exec(error.stack ?? '')?.[1] : '';
  process.stderr.write(`${name} failed: ${oneLine(message)}${where ? ` (${where})` : ''}; please report this\n`);
  return 1;
}

/** Exits with code 0 when the reader of stdout closes the pipe, as in `… | head`. */
export function stopQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

function oneLine(message: string): string {
  return message.replace(/\s*\n\s*/g, ' ').trim();
}
