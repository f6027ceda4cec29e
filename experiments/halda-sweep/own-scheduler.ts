import { existsSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InputError } from '../../engine/input/input-error.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULER_NAMES } from '../../engine/schedule/registry.ts';
import type { Scheduled, SchedulingProblem } from '../../engine/schedule/scheduler.ts';
import { withRelays } from '../../engine/schedule/with-relays.ts';

/** A scheduler from a file, which the registry lacks. */
export interface OwnScheduler {
  readonly name: string;
  readonly plan: (problem: SchedulingProblem, solver: IntegerSolver) => Scheduled;
}

const FLAG = '--scheduler-file';

/**
 * Loads a scheduler: the function that a module exports as its default. Its name is that of the file, without ending.
 * @throws InputError for a file that can't be loaded, has no such function or a name that is taken; its function does
 * so where the one of the file throws, or returns neither a plan that cluster and model allow nor the reason for none
 */
export async function loadOwnScheduler(file: string): Promise<OwnScheduler> {
  const where = `${FLAG} ${file}`;
  const name = basename(file, extname(file));
  if ([...SCHEDULER_NAMES, 'hand'].includes(name))
    throw new InputError(where, `is called like a scheduler that there is already; rename the file`);
  const plan = await defaultOf(file, where);
  const checked = (problem: SchedulingProblem, solver: IntegerSolver): Scheduled =>
    checkedAnswer(callOf(plan, file, where, problem, solver), problem, where);
  return { name, plan: withRelays(checked) };
}

type Scheduler = (problem: SchedulingProblem, solver: IntegerSolver) => unknown;

async function defaultOf(file: string, where: string): Promise<Scheduler> {
  if (!existsSync(file)) throw new InputError(where, 'doesn’t exist');
  let found: unknown;
  try {
    found = ((await import(pathToFileURL(resolve(file)).href)) as { default?: unknown }).default;
  } catch (error) {
    throw new InputError(where, `can’t be loaded: ${placedMessage(error, file)}`);
  }
  if (typeof found === 'function') return found as Scheduler;
  throw new InputError(where, 'has no default export that is a function: export default function (problem) { … }');
}

function callOf(plan: Scheduler, file: string, where: string, ...given: Parameters<Scheduler>): unknown {
  try {
    return plan(...given);
  } catch (error) {
    throw new InputError(where, `throws: ${placedMessage(error, file)}`);
  }
}

/** The first line of an error's message, and the line of the file that threw it, if it did. */
function placedMessage(error: unknown, file: string): string {
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const place = stack.split('\n').find((line) => line.includes(`${basename(file)}:`));
  const line = place === undefined ? undefined : /:(\d+):\d+\)?$/.exec(place)?.[1];
  return `${message.split('\n', 1)[0]}${line === undefined ? '' : ` (line ${line})`}`;
}

function checkedAnswer(answer: unknown, { belief, model }: SchedulingProblem, where: string): Scheduled {
  const scheduled = (answer ?? {}) as Scheduled;
  if (scheduled.plan === undefined) {
    if (typeof scheduled.reason === 'string' && typeof scheduled.message === 'string') return scheduled;
    throw new InputError(
      where,
      'returns neither { plan } nor the reason for none, which noPlan(reason, message) makes',
    );
  }
  try {
    validatePlan(scheduled.plan, belief, model);
  } catch (error) {
    throw new InputError(where, `returns a plan that ${model.name} can’t have: ${(error as Error).message}`);
  }
  return scheduled;
}
