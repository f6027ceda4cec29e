import { expertsOf, type Routing } from '../../experts/routing.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import { ROUTE_NUMBERS, type Router } from '../../model/feed-forward.ts';
import type { Model } from '../../model/model.ts';
import { observedRoutes } from './observed-routes.ts';

/**
 * Kernels on a CPU whose tokens use the experts of a routing, one token after the other and from the beginning again, in
 * place of those that routers choose. Weights stay what the router gave its own choices, the best first. A text must only
 * be continued.
 */
export function replayedRoutes(kernels: Kernels, routing: Routing): Kernels {
  let [layer, position] = [0, 0];
  return observedRoutes(kernels, ({ y, router: { used } }) => {
    const tokens = y.values.length / (used * ROUTE_NUMBERS);
    for (let token = 0; token < tokens; token++) {
      const experts = expertsOf(routing, (position + token) % routing.tokens, layer);
      for (const [i, expert] of experts.entries()) y.values[ROUTE_NUMBERS * (token * used + i)] = expert;
    }
    layer = (layer + 1) % routing.layers;
    if (layer === 0) position += tokens;
  });
}

/**
 * The first of some routings that fits a model. Recorders that don't write how many experts there are know of those alone
 * that were used.
 * @throws InputError if none does, or the model has no experts
 */
export function fittingRouting(routings: ReadonlyMap<string, Routing>, model: Model, file: string): Routing {
  const routers = model.kinds.flatMap(({ feedForward }) =>
    feedForward?.kind === 'experts' ? [feedForward.router] : [],
  );
  const [router] = routers;
  if (router === undefined) throw new InputError('--routing', `${model.name} has no experts; leave it out`);
  const found = [...routings.values()].find(
    ({ layers, experts, used }) => layers === routers.length && experts <= router.experts && used === router.used,
  );
  if (found !== undefined) return found;
  const text = ({ experts, used }: Pick<Router, 'experts' | 'used'>, layers: number): string =>
    `${used} of ${experts} experts in ${layers} layers`;
  const others = [...routings].map(([name, routing]) => `${name}: ${text(routing, routing.layers)}`).join('; ');
  throw new InputError(file, `has no routing for ${text(router, routers.length)} (${others})`);
}
