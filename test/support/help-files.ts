import { loadCommands, SUMMARIES } from '../../commands/cli.ts';
import { factsOf } from '../../commands/help/command-facts.ts';
import { optionsReference } from '../../commands/help/options-reference.ts';
import { answersCommand } from '../../experiments/answers/command.ts';
import { labCommand } from '../../experiments/page-scan/command.ts';
import { sweepShardCommand, sweepStatusCommand, sweepWorkerCommand } from '../../experiments/sweep/commands.ts';

/** Commands of rooms above the engine, as bin/hearth.ts adds them. */
const MORE = {
  answers: async () => answersCommand(),
  lab: async () => labCommand(),
  'sweep-worker': async () => sweepWorkerCommand(),
  'sweep-shard': async () => sweepShardCommand(),
  'sweep-status': async () => sweepStatusCommand(),
};

/** Files that are made of the commands: their text by path. */
export async function helpFiles(): Promise<Record<string, string>> {
  const commands = (await loadCommands(MORE)).map(factsOf);
  const summaries = Object.fromEntries(commands.map(({ name, description }) => [name, description]));
  return {
    'docs/reference/options.md': optionsReference(commands),
    [SUMMARIES]: `${JSON.stringify(summaries, null, 2)}\n`,
  };
}
