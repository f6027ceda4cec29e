import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import type { Plan } from './plan.ts';
import { expertLayersOf } from './validate-experts.ts';

/**
 * Checks how many of a stage's first layers have their experts on the CPU: the stage is one of a split and on a GPU, has
 * these layers, and there are experts among them.
 * @throws InputError that says what it should be
 */
export function validateCpuExperts(plan: Plan, index: number, model: Shape, where: string): void {
  const stage = plan.stages[index];
  if (stage?.cpuExperts === undefined) return;
  const { processor, from, to, cpuExperts, streamed } = stage;
  const fail = (problem: string): never => {
    throw new InputError(`${where}.cpuExperts`, problem);
  };
  if (plan.kind !== 'split') fail(`is not carried out under a plan of kind "${plan.kind}"; allowed: split`);
  if (processor === 'cpu') fail('stands in a stage on the CPU, which has its experts anyway; remove it');
  if (streamed !== undefined) fail('is given together with "streamed"; remove one of them');
  if (!(Number.isInteger(cpuExperts) && cpuExperts >= 1 && cpuExperts <= to - from))
    fail(`is ${cpuExperts}; allowed: 1 to the stage’s ${to - from} layers`);
  const mixtures = expertLayersOf(model, from, to).layers;
  if (mixtures === 0)
    fail(`is ${cpuExperts}; no layer from ${from} to ${to - 1} of ${model.name} has experts: remove it`);
  if (expertLayersOf(model, from, from + cpuExperts).layers === 0)
    fail(`is ${cpuExperts}, and none of these layers has experts; give more, or remove it`);
}
