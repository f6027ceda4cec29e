import type { RouteOperation } from '../../kernels/expert-operations.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { Operation } from '../../kernels/operation.ts';
import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import { observedOperations } from './observed-operations.ts';

/** Called with a router's operation on the tokens of a pass, after it was performed. */
export type RouteObserver = (route: RouteOperation) => void;

/** Kernels on a CPU that show what routers choose. */
export function observedRoutes(kernels: Kernels, observe: RouteObserver): Kernels {
  return observedOperations(kernels, isRoute, observe);
}

function isRoute(operation: Operation): operation is RouteOperation {
  return operation.kind === 'route';
}

/** The numbers of the experts that a router chose: [tokens][used], the best first. */
export function chosenExperts({ y }: RouteOperation): Uint16Array {
  return Uint16Array.from(
    { length: y.values.length / ROUTE_NUMBERS },
    (_, index) => y.values[ROUTE_NUMBERS * index] ?? 0,
  );
}
