import { InputError } from '../input/input-error.ts';
import type { TensorParallelPlan } from './plan.ts';

/** Sums of shares such as ten times 0.1 are off by a few units in the last place. */
const TOLERANCE = 1e-9;

/**
 * Checks a plan that cuts tensors: they are cut among CPUs; each device occurs once, the root among them; shares add up
 * to 1; and the plan has no property that tensor parallelism doesn't use.
 * @throws InputError that says which part is wrong and what it should be
 */
export function validateCut(plan: TensorParallelPlan, where: string): void {
  const { cut, device, processor } = plan.stages[0];
  const fail = (part: string, problem: string): never => {
    throw new InputError(`${where}: ${part}`, problem);
  };
  const place = 'stages[0]';
  if (processor !== 'cpu') fail(`${place}.processor`, 'is "gpu"; tensors are cut among CPUs: use "cpu"');
  for (const [other, { share }] of cut.entries()) {
    if (!(share > 0))
      fail(`${place}.cut[${other}].share`, `is ${share}; give a share above 0, or leave the device out`);
  }
  const devices = cut.map((part) => part.device);
  const twice = devices.find((name, other) => devices.indexOf(name) !== other);
  if (twice !== undefined) fail(`${place}.cut`, `"${twice}" occurs twice; give it one share`);
  if (!devices.includes(device)) fail(`${place}.cut`, `lacks the stage’s own device "${device}"; give it a share`);
  const sum = cut.reduce((total, { share }) => total + share, 0);
  if (Math.abs(sum - 1) > TOLERANCE) fail(`${place}.cut`, `shares add up to ${sum}, not 1`);
  if (device !== plan.embedding.device) {
    fail(`${place}.device`, `is "${device}"; the head "${plan.embedding.device}" is the root of a cut`);
  }
  if (plan.output.processor !== 'cpu') fail('output.processor', 'is "gpu"; with cut tensors use "cpu"');
  if (plan.kvCache !== 'with-layers')
    fail('kvCache', 'is "host"; the KV cache is cut with its layers: use "with-layers"');
  if (Object.keys(plan.weights).length > 0) fail('weights', 'cut tensors stay in memory; remove all policies');
}
