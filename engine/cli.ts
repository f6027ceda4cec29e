import { Command } from 'commander';
import { chatCommand } from './commands/chat.ts';
import { generateCommand } from './commands/generate.ts';
import { inspectCommand } from './commands/inspect.ts';
import { keygenCommand } from './commands/keygen.ts';
import { logitsCommand } from './commands/logits.ts';
import { makeModelCommand } from './commands/make-model.ts';
import { planCommand } from './commands/plan.ts';
import { profileCommand } from './commands/profile.ts';
import { runCommand } from './commands/run.ts';
import { serveCommand } from './commands/serve.ts';
import { splitCommand } from './commands/split.ts';
import { tokenizeCommand } from './commands/tokenize.ts';
import { workerCommand } from './commands/worker.ts';
import { reportError, stopWithoutOutput } from './terminal/report-error.ts';

/**
 * The command line `hearth`. Exit code 0 on success; 2 and one line on stderr for bad input; 1 and one line for a defect
 * of Hearth.
 */
const COMMANDS = [
  inspectCommand,
  makeModelCommand,
  profileCommand,
  planCommand,
  logitsCommand,
  tokenizeCommand,
  generateCommand,
  chatCommand,
  serveCommand,
];
const RING_COMMANDS = [keygenCommand, splitCommand, workerCommand, runCommand];

const program = new Command('hearth')
  .description('Runs and examines large language models on hardware that is too small for them.')
  .helpOption('-h, --help', 'show this help')
  .helpCommand(false);
for (const create of [...COMMANDS, ...RING_COMMANDS]) program.addCommand(create());
for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({ outputError: () => {} });
  command.showSuggestionAfterError().allowExcessArguments(false).helpOption('-h, --help', 'show this help');
}

stopWithoutOutput();
const [named] = process.argv.slice(2);
const command = program.commands.find((candidate) => candidate.name() === named);
try {
  if (named === undefined) program.outputHelp();
  else await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, command === undefined ? 'hearth' : `hearth ${command.name()}`);
}
