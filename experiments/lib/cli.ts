import { Command, CommanderError } from 'commander';
import { InputError } from '../../engine/input/input-error.ts';

/** A script with a command line. */
export interface Experiment<Options> {
  readonly name: string;
  readonly description: string;
  /** Adds the options; their readers throw InputError (options.ts). */
  readonly configure: (command: Command) => void;
  readonly run: (options: Options) => void | Promise<void>;
}

/**
 * Runs an experiment with the arguments of the process. Exit code 0 when it did what was asked; 2 and one line on
 * stderr for bad input (options, files, values); 1 and one line for a defect of ours.
 */
export async function runExperiment<Options>(experiment: Experiment<Options>): Promise<void> {
  stopQuietlyWithoutReader();
  try {
    const command = new Command(experiment.name).description(experiment.description);
    command.exitOverride().configureOutput({ outputError: () => {} });
    command.showSuggestionAfterError().allowExcessArguments(false).helpOption('-h, --help', 'show this help');
    experiment.configure(command);
    command.parse();
    await experiment.run(command.opts() as Options);
  } catch (error) {
    process.exitCode = report(error, experiment.name);
  }
}

/** Prints what went wrong on one line of stderr. Returns the exit code. */
function report(error: unknown, name: string): number {
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
    error instanceof Error ? /\/((?:engine|experiments|datasets)\/[^\s)]+)/.exec(error.stack ?? '')?.[1] : '';
  process.stderr.write(`${name} failed: ${oneLine(message)}${where ? ` (${where})` : ''}; please report this\n`);
  return 1;
}

function oneLine(message: string): string {
  return message.replace(/\s*\n\s*/g, ' ').trim();
}

/** `… | head` closes the pipe: that is no failure. */
function stopQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}
