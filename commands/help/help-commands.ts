import { Argument, Command } from 'commander';
import { factsOf } from './command-facts.ts';
import { completionScript, SHELLS, type Shell } from './completions.ts';
import { manPage } from './man-page.ts';

/** `hearth completion SHELL`: prints a script that completes commands and options. */
export function completionCommand(load: () => Promise<readonly Command[]>): Command {
  return new Command('completion')
    .description('Prints a script that completes commands and options in bash, zsh or fish.')
    .addArgument(new Argument('<shell>', 'the shell that will read it').choices(SHELLS))
    .action(async (shell: Shell) => {
      process.stdout.write(completionScript(shell, (await load()).map(factsOf)));
    });
}

/** `hearth manual COMMAND`: prints the command's man page. */
export function manualCommand(
  load: () => Promise<readonly Command[]>,
  names: readonly string[],
  version: string,
): Command {
  return new Command('manual')
    .description('Prints the man page of a command: hearth manual plan | man -l -')
    .addArgument(new Argument('<command>', 'the command').choices(names))
    .action(async (name: string) => {
      const command = (await load()).find((one) => one.name() === name) as Command;
      process.stdout.write(manPage(factsOf(command), version));
    });
}
