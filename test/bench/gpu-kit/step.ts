import type { Cell } from './results.ts';
import type { StepTask } from './step-tools.ts';
import { STEPS } from './steps/steps.ts';

/** Messages of a step's process. */
export type StepMessage =
  | { readonly kind: 'cell'; readonly cell: Cell; readonly line?: string | undefined }
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'ended'; readonly summary: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** Runs one step in a process of its own, which may be killed at any time. */
const task = JSON.parse(process.argv[2] ?? '{}') as StepTask;
const tell = (message: StepMessage): Promise<void> =>
  new Promise((resolve) => process.send?.(message, () => resolve()));
process.on('disconnect', () => process.exit());

async function main(): Promise<void> {
  const step = STEPS.find(({ name }) => name === task.step);
  if (step === undefined) throw new Error(`no step is called "${task.step}"`);
  const summary = await step.run({
    ...task,
    save: (cell, line) => void tell({ kind: 'cell', cell, line }),
    tell: (line) => void tell({ kind: 'line', line }),
    secondsLeft: () => task.seconds - performance.now() / 1000,
  });
  await tell({ kind: 'ended', summary });
}

try {
  await main();
} catch (error) {
  await tell({ kind: 'failed', reason: (error as Error).message.split('\n').slice(0, 3).join(' ') });
}
process.exit();
