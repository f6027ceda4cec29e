import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { formHelp } from '../engine/terminal/help.ts';
import { reportError, stopWithoutOutput } from '../engine/terminal/report-error.ts';

/** Commands by name. Only the command that is named is loaded: a start of the others would take longer than many a command. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>;

const COMMANDS: Commands = {
  inspect: async () => (await import('./inspect.ts')).inspectCommand(),
  'make-model': async () => (await import('./make-model.ts')).makeModelCommand(),
  quantize: async () => (await import('./quantize.ts')).quantizeCommand(),
  importance: async () => (await import('./importance.ts')).importanceCommand(),
  'pack-experts': async () => (await import('./pack-experts.ts')).packExpertsCommand(),
  routing: async () => (await import('./routing.ts')).routingCommand(),
  profile: async () => (await import('./profile.ts')).profileCommand(),
  plan: async () => (await import('./plan.ts')).planCommand(),
  logits: async () => (await import('./logits.ts')).logitsCommand(),
  tokenize: async () => (await import('./tokenize.ts')).tokenizeCommand(),
  generate: async () => (await import('./generate.ts')).generateCommand(),
  chat: async () => (await import('./chat.ts')).chatCommand(),
  serve: async () => (await import('./serve.ts')).serveCommand(),
  keygen: async () => (await import('./keygen.ts')).keygenCommand(),
  split: async () => (await import('./split.ts')).splitCommand(),
  worker: async () => (await import('./worker.ts')).workerCommand(),
  run: async () => (await import('./generate.ts')).generateCommand('run'),
};

/** First lines of help: every command's description by name, so that `hearth --help` loads none. A test holds it. */
export const SUMMARIES = 'commands/help/summaries.json';

/** All commands, loaded. @param more commands of rooms above the engine */
export function loadCommands(more: Commands): Promise<Command[]> {
  return Promise.all(Object.values({ ...COMMANDS, ...more, ...helpCommands(more) }).map((load) => load()));
}

/** Commands that show what others are, for shells and man. */
function helpCommands(more: Commands): Commands {
  const load = (): Promise<Command[]> => loadCommands(more);
  const names = [...Object.keys({ ...COMMANDS, ...more }), 'completion', 'manual'];
  return {
    completion: async () => (await import('./help/help-commands.ts')).completionCommand(load),
    manual: async () => (await import('./help/help-commands.ts')).manualCommand(load, names, version()),
  };
}

function version(): string {
  return (readJson('package.json') as { version: string }).version;
}

/** @param file from the root of the package */
function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', file), 'utf8'));
}

/**
 * The command line `hearth`. Exit code 0 on success; 2 and one line on stderr for bad input; 1 and one line for a defect
 * of Hearth.
 * @param more commands of rooms above the engine
 */
export async function runCommandLine(more: Commands): Promise<void> {
  const commands = { ...COMMANDS, ...more, ...helpCommands(more) };
  const [named] = process.argv.slice(2);
  const load = named !== undefined && Object.hasOwn(commands, named) ? commands[named] : undefined;
  const program = new Command('hearth')
    .description('Runs and examines large language models on hardware that is too small for them.')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false);
  if (load === undefined) {
    program.version(version(), '--version', 'show the version');
    for (const [name, text] of Object.entries(readJson(SUMMARIES) as Record<string, string>))
      program.addCommand(new Command(name).description(text));
  } else program.addCommand(await load());
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({ outputError: () => {} });
    command.showSuggestionAfterError().allowExcessArguments(false).helpOption('-h, --help', 'show this help');
    formHelp(command);
  }

  stopWithoutOutput();
  try {
    if (named === undefined) program.outputHelp();
    else await program.parseAsync();
  } catch (error) {
    process.exitCode = reportError(error, load === undefined ? 'hearth' : `hearth ${named}`);
  }
}
