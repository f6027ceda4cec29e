import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import type { ExpertParallelPlan } from './plan.ts';
import { expertLayersOf } from './validate-experts.ts';

/**
 * Checks which devices hold experts: the model has some; every expert of every layer has one holder; all else is on the
 * head's CPU; and the plan has no property that expert parallelism doesn't use.
 * @throws InputError that says which part is wrong and what it should be
 */
export function validateHolders(plan: ExpertParallelPlan, model: Shape, where: string): void {
  const fail = (part: string, problem: string): never => {
    throw new InputError(`${where}: ${part}`, problem);
  };
  const [{ device, processor, streamed, partition }] = plan.stages;
  const head = plan.embedding.device;
  if (device !== head) fail('stages[0].device', `is "${device}"; the head "${head}" runs all layers with "holders"`);
  if (processor !== 'cpu') fail('stages[0].processor', 'is "gpu"; with "holders" use "cpu"');
  if (streamed !== undefined) fail('stages[0].streamed', 'is given together with "holders"; remove one of them');
  if (partition !== undefined) fail('stages[0].partition', 'is given together with "holders"; remove one of them');
  for (const part of ['embedding', 'output'] as const)
    if (plan[part].processor !== 'cpu') fail(`${part}.processor`, 'is "gpu"; with "holders" use "cpu"');
  if (plan.kvCache !== 'with-layers')
    fail('kvCache', 'is "host"; the head keeps it with its layers: use "with-layers"');
  if (Object.keys(plan.weights).length > 0)
    fail('weights', 'experts that have holders stay in memory, as all else does; remove all policies');
  const { layers, experts } = expertLayersOf(model, 0, model.layers);
  if (layers === 0) fail('holders', `${model.name} has no layer with experts; remove it`);
  const holderOf = Array.from({ length: layers }, () => new Map<number, string>());
  const named = new Set<string>();
  for (const [index, holder] of plan.holders.entries()) {
    const place = `holders[${index}]`;
    if (named.has(holder.device)) fail(place, `"${holder.device}" occurs twice; give it one list for each layer`);
    named.add(holder.device);
    if (holder.experts.length !== layers)
      fail(`${place}.experts`, `has ${holder.experts.length} lists; ${layers} layers of ${model.name} have experts`);
    if (holder.experts.every((own) => own.length === 0)) fail(`${place}.experts`, 'are none; leave the device out');
    for (const [layer, own] of holder.experts.entries())
      for (const [at, expert] of own.entries()) {
        const number = `${place}.experts[${layer}][${at}]`;
        const holders = holderOf[layer] as Map<number, string>;
        if (expert >= experts) fail(number, `is ${expert}; allowed: 0 to ${experts - 1}`);
        const other = holders.get(expert);
        if (other !== undefined) fail(number, `is ${expert}, which "${other}" holds already; remove one`);
        if (expert < (own[at - 1] ?? 0))
          fail(number, `is ${expert} behind ${own[at - 1]}; give them in ascending order`);
        holders.set(expert, holder.device);
      }
  }
  for (const [layer, holders] of holderOf.entries())
    for (let expert = 0; expert < experts; expert++)
      if (!holders.has(expert)) fail('holders', `expert ${expert} of list ${layer} has none; give it to a device`);
}
