import { Command } from 'commander';
import { reportError, stopQuietlyWithoutReader } from '../../engine/terminal/report-error.ts';

/** A script with a command line. */
export interface Experiment<Options> {
  readonly name: string;
  readonly description: string;
  /** Adds the options; their readers throw InputError (options.ts). */
  readonly configure: (command: Command) => void;
  readonly run: (options: Options, args: readonly string[]) => void | Promise<void>;
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
    await experiment.run(command.opts() as Options, command.args);
  } catch (error) {
    process.exitCode = reportError(error, experiment.name);
  }
}
