import { runCommandLine } from '../commands/cli.ts';

await runCommandLine({
  'sweep-worker': async () => (await import('../experiments/sweep/commands.ts')).sweepWorkerCommand(),
  'sweep-shard': async () => (await import('../experiments/sweep/commands.ts')).sweepShardCommand(),
  'sweep-status': async () => (await import('../experiments/sweep/commands.ts')).sweepStatusCommand(),
});
