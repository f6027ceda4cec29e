import { runCommandLine } from '../commands/cli.ts';

await runCommandLine({
  answers: async () => (await import('../experiments/answers/command.ts')).answersCommand(),
  lab: async () => (await import('../experiments/page-scan/command.ts')).labCommand(),
  'sweep-worker': async () => (await import('../experiments/sweep/commands.ts')).sweepWorkerCommand(),
  'sweep-shard': async () => (await import('../experiments/sweep/commands.ts')).sweepShardCommand(),
  'sweep-status': async () => (await import('../experiments/sweep/commands.ts')).sweepStatusCommand(),
});
