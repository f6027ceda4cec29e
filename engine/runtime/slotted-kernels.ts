import type { Kernels } from '../kernels/kernels.ts';
import type { GateOperation, MultiplyExpertsOperation, Operation, RouteOperation } from '../kernels/operation.ts';
import type { Vector } from '../kernels/vector.ts';
import { ROUTE_NUMBERS } from '../model/feed-forward.ts';
import type { LayerSlots, SlotMatrix } from './weights/expert-slots.ts';

/** The experts' products, and the gates between. */
type ExpertOperation = MultiplyExpertsOperation | GateOperation;

/**
 * Kernels on a CPU whose experts are in slots: a layer's program is cut behind its router, and what tokens chose is brought
 * into slots before it is multiplied. Where the tokens of a pass use more experts than there are slots, the experts come in
 * groups, each with all of its tokens, so that each is read once.
 * @param slotsOf the slots of the layer that runs; `undefined` if it has none
 */
export function slottedKernels(kernels: Kernels, slotsOf: () => LayerSlots | undefined): Kernels {
  const { prepare: _, ...others } = kernels;
  const scratch = scratchRows(kernels);
  return {
    ...others,
    run(operations) {
      const slots = slotsOf();
      const route = operations.findIndex(({ kind }) => kind === 'route');
      if (slots === undefined || route < 0) return kernels.run(operations);
      const isOfExperts = (operation: Operation): operation is MultiplyExpertsOperation =>
        operation.kind === 'multiply-experts' && slots.matrixOf(operation.matrix) !== undefined;
      const first = operations.findIndex(isOfExperts);
      const last = operations.findLastIndex(isOfExperts);
      kernels.run(operations.slice(0, first));
      const chain = operations.slice(first, last + 1) as ExpertOperation[];
      multiplyInSlots(kernels, { route: operations[route] as RouteOperation, chain, slots, scratch });
      kernels.run(operations.slice(last + 1));
    },
  };
}

interface SlottedChain {
  readonly route: RouteOperation;
  readonly chain: readonly ExpertOperation[];
  readonly slots: LayerSlots;
  readonly scratch: (name: string, values: number) => Vector;
}

function multiplyInSlots(kernels: Kernels, { route, chain, slots, scratch }: SlottedChain): void {
  const { values } = route.y;
  const choices = Array.from({ length: values.length / ROUTE_NUMBERS }, (_, i) => values[ROUTE_NUMBERS * i] as number);
  const distinct = [...new Set(choices)];
  if (distinct.length <= slots.slots) {
    const places = slots.need(distinct);
    const routes = scratch('routes', values.length);
    routes.values.set(values);
    for (const [i, expert] of choices.entries()) routes.values[ROUTE_NUMBERS * i] = places.get(expert) as number;
    kernels.write(routes);
    kernels.run(chain.map((operation) => inSlots(operation, slots, { routes })));
    return;
  }
  for (let from = 0; from < distinct.length; from += slots.slots) {
    const places = slots.need(distinct.slice(from, from + slots.slots));
    const members = new Set(distinct.slice(from, from + slots.slots));
    const own = [...choices.keys()].filter((choice) => members.has(choices[choice] as number));
    const { used } = route.router;
    for (let begin = 0; begin < own.length; begin += choices.length / used) {
      const rows = own.slice(begin, begin + choices.length / used);
      multiplyGathered(kernels, {
        chain,
        slots,
        scratch,
        rows,
        used,
        placeOf: (row) => places.get(choices[row] as number),
      });
    }
  }
}

interface GatheredRows extends Omit<SlottedChain, 'route'> {
  /** Choices, by their place among those of all tokens. */
  readonly rows: readonly number[];
  /** Choices of a token. */
  readonly used: number;
  readonly placeOf: (row: number) => number | undefined;
}

/** Multiplies some choices as tokens of their own, and brings the results to their places. */
function multiplyGathered(kernels: Kernels, { chain, slots, scratch, rows, used, placeOf }: GatheredRows): void {
  const routes = scratch('routes', rows.length * ROUTE_NUMBERS);
  for (const [i, row] of rows.entries()) routes.values.set([placeOf(row) as number, 1], ROUTE_NUMBERS * i);
  const gathered = new Map<string, Vector>();
  const keyOf = ({ id, offset }: Vector): string => `${id} ${offset}`;
  /** A vector of some values for each choice. */
  const results = (vector: Vector, width: number): Vector => {
    const known = gathered.get(keyOf(vector)) ?? scratch(keyOf(vector), rows.length * width);
    gathered.set(keyOf(vector), known);
    return known;
  };
  const inputs = (x: Vector, width: number): Vector => {
    const known = gathered.get(keyOf(x));
    if (known !== undefined) return known;
    const own = scratch(keyOf(x), rows.length * width);
    for (const [i, row] of rows.entries()) {
      const token = Math.floor(row / used);
      own.values.set(x.values.subarray(token * width, (token + 1) * width), i * width);
    }
    gathered.set(keyOf(x), own);
    return own;
  };
  const operations = chain.map((operation): Operation => {
    if (operation.kind === 'gate') {
      const width = gathered.get(keyOf(operation.gate))?.values.length ?? 0;
      const part = (vector: Vector): Vector => results(vector, width / rows.length);
      return { ...operation, gate: part(operation.gate), up: part(operation.up), y: part(operation.y) };
    }
    const { matrix, x, y, rows: width } = operation;
    const own = { used: 1, x: inputs(x, matrix.columns), y: results(y, width) };
    return inSlots({ ...operation, ...own }, slots, { routes });
  });
  kernels.run(operations);
  const { y, rows: width } = chain.at(-1) as MultiplyExpertsOperation;
  const found = gathered.get(keyOf(y)) as Vector;
  for (const [i, row] of rows.entries()) y.values.set(found.values.subarray(i * width, (i + 1) * width), row * width);
}

function inSlots(operation: ExpertOperation, slots: LayerSlots, { routes }: { readonly routes: Vector }): Operation {
  if (operation.kind === 'gate') return operation;
  const { matrix, bias } = slots.matrixOf(operation.matrix) as SlotMatrix;
  return { ...operation, matrix, bias, experts: slots.slots, routes };
}

/** Memory by name, which grows with what is asked for. */
function scratchRows(kernels: Pick<Kernels, 'vector'>): (name: string, values: number) => Vector {
  const known = new Map<string, Vector>();
  return (name, values) => {
    const found = known.get(name);
    const own = found !== undefined && found.values.length >= values ? found : kernels.vector(values);
    known.set(name, own);
    return own.slice(0, values);
  };
}
