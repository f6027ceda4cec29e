import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import type { Plan } from './plan.ts';
import { stagesByDevice } from './windows.ts';

/** Layers with experts among some layers, and how many experts one has and a token uses. */
export interface ExpertLayers {
  readonly layers: number;
  readonly experts: number;
  readonly used: number;
}

/** Layers with experts from one layer to, not including, another. @param model its layers with experts are alike */
export function expertLayersOf({ kinds }: Pick<Shape, 'kinds'>, from: number, to: number): ExpertLayers {
  let [layers, experts, used] = [0, 0, 0];
  for (let layer = from; layer < Math.min(to, kinds.length); layer++) {
    const feedForward = kinds[layer]?.feedForward;
    if (feedForward?.kind !== 'experts') continue;
    layers++;
    ({ experts, used } = feedForward.router);
  }
  return { layers, experts, used };
}

/**
 * Checks how devices of a plan cache and read experts: they have layers with experts; slots hold at least those of one
 * token in a layer; nothing else manages the same weights.
 * @throws InputError that says which part is wrong and what it should be
 */
export function validateExperts(plan: Plan, model: Shape, where: string): void {
  for (const [device, policy] of Object.entries(plan.weights)) {
    if (policy.experts === undefined) continue;
    const place = `${where}: weights.${device}`;
    const fail = (part: string, problem: string): never => {
      throw new InputError(`${place}.${part}`, problem);
    };
    if (plan.kind !== 'split' && plan.kind !== 'ring')
      fail('experts', `are not cached under a plan of kind "${plan.kind}"; allowed: split, ring`);
    const stages = stagesByDevice(plan).get(device) ?? [];
    const own = stages.map(({ from, to }) => expertLayersOf(model, from, to));
    const layers = own.reduce((sum, one) => sum + one.layers, 0);
    const { experts, used } = own.find((one) => one.layers > 0) ?? { experts: 0, used: 0 };
    if (layers === 0) fail('experts', `"${device}" has no layer with experts of ${model.name}; remove it`);
    const { slots, pool, method, layout, lookahead } = policy.experts;
    const most = pool === 'all' ? layers * experts : experts;
    if (method === 'mmap' && layout !== 'file')
      fail('experts.layout', `is "${layout}"; experts are mapped in the model’s own file: use "file"`);
    if (method === 'mmap' && slots !== 'fit')
      fail('experts.slots', 'is a number; mapped experts have no slots: use "fit"');
    if (slots !== 'fit' && !(Number.isInteger(slots) && slots >= used && slots <= most))
      fail('experts.slots', `is ${slots}; allowed: "fit" or a whole number from ${used} to ${most}`);
    if (lookahead.kind === 'next-router' && lookahead.ranks > used)
      fail('experts.lookahead.ranks', `is ${lookahead.ranks}; a router chooses ${used}`);
    if (policy.prefetch !== 'none') fail('prefetch', `is "${policy.prefetch}"; with "experts" use "none"`);
    if (policy.release !== 'none') fail('release', `is "${policy.release}"; with "experts" use "none"`);
  }
}
