import type { MultiplyExpertsOperation, RouteOperation } from '../../kernels/expert-operations.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { GateOperation, MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import type { GuessExperts } from './expert-guesses.ts';
import type { LayerExperts, NeededExperts, PlacedMatrix } from './layer-experts.ts';

/** The experts' products, and the gates between. */
type ExpertOperation = MultiplyExpertsOperation | GateOperation;

export interface ExpertKernelsCase {
  readonly kernels: Kernels;
  /** The index of the layer that runs; `undefined` outside layers. */
  readonly running: () => number | undefined;
  /** By index of the layer. */
  readonly experts: ReadonlyMap<number, LayerExperts>;
  /** Experts that are in memory are multiplied while others are read, those of one token. */
  readonly hitsFirst: boolean;
  /** Experts that are read ahead, for a single token. */
  readonly guess?: GuessExperts | undefined;
}

/**
 * Kernels on a CPU whose experts are brought into memory when they are needed: a layer's program is cut behind its router,
 * and what tokens chose is brought before it is multiplied. Where the tokens of a pass use more experts than can be in
 * memory together, the experts come in groups, each with all of its tokens, so that each is read once.
 */
export function expertKernels(options: ExpertKernelsCase): Kernels {
  const { kernels, running, experts } = options;
  const { prepare: _, ...others } = kernels;
  const scratch = scratchRows(kernels);
  /** Tokens that went through each layer. */
  const seen = new Map<number, number>();
  return {
    ...others,
    run(operations) {
      const layer = running();
      const own = layer === undefined ? undefined : experts.get(layer);
      const route = operations.findIndex(({ kind }) => kind === 'route');
      if (layer === undefined || own === undefined || route < 0) return kernels.run(operations);
      const isOfExperts = (operation: Operation): operation is MultiplyExpertsOperation =>
        operation.kind === 'multiply-experts' && own.placed(operation) !== undefined;
      const first = operations.findIndex(isOfExperts);
      const last = operations.findLastIndex(isOfExperts);
      kernels.run(operations.slice(0, first));
      const chain = operations.slice(first, last + 1) as ExpertOperation[];
      const chosen = operations[route] as RouteOperation;
      const input = routerInput(operations.slice(0, route), chosen);
      const token = seen.get(layer) ?? 0;
      seen.set(layer, token + chosen.y.values.length / (ROUTE_NUMBERS * chosen.router.used));
      multiplyBrought({ ...options, layer, own, token, input, route: chosen, chain, scratch });
      kernels.run(operations.slice(last + 1));
    },
  };
}

/** The vector from which a router's logits are computed. */
function routerInput(before: readonly Operation[], { x }: RouteOperation): Vector | undefined {
  const isLogits = (one: Operation): one is MultiplyOperation =>
    one.kind === 'multiply' && one.y.id === x.id && one.y.offset === x.offset;
  return before.findLast(isLogits)?.x;
}

interface BroughtChain extends ExpertKernelsCase {
  readonly layer: number;
  readonly own: LayerExperts;
  readonly token: number;
  readonly input: Vector | undefined;
  readonly route: RouteOperation;
  readonly chain: readonly ExpertOperation[];
  readonly scratch: (name: string, values: number) => Vector;
}

function multiplyBrought(brought: BroughtChain): void {
  const { experts, own, layer, token, input, route, hitsFirst, guess } = brought;
  const { values } = route.y;
  const choices = Array.from({ length: values.length / ROUTE_NUMBERS }, (_, i) => values[ROUTE_NUMBERS * i] as number);
  const distinct = [...new Set(choices)];
  const runs = chainRuns(brought.chain, choices);
  if (distinct.length <= own.atOnce) {
    const needed = own.need(distinct);
    const { used } = route.router;
    const isSingle = choices.length === used;
    const ahead = isSingle && input !== undefined ? guess?.({ layer, token, chosen: distinct, input }) : undefined;
    if (ahead !== undefined) experts.get(ahead.layer)?.bring(ahead.experts);
    if (isSingle && hitsFirst && needed.ready.length < distinct.length) {
      multiplyInTurns(brought, choices, needed);
    } else {
      finish(needed);
      for (const run of runs) multiplyAll(brought, run, needed);
    }
    return;
  }
  for (let from = 0; from < distinct.length; from += own.atOnce) {
    const group = distinct.slice(from, from + own.atOnce);
    const needed = own.need(group);
    finish(needed);
    const members = new Set(group);
    const { used } = route.router;
    for (const { chain, choices: own } of runs) {
      const rows = [...own.keys()].filter((choice) => members.has(own[choice] as number));
      for (let begin = 0; begin < rows.length; begin += own.length / used)
        multiplyGathered({
          ...{ ...brought, chain, used },
          rows: rows.slice(begin, begin + own.length / used),
          placeOf: (row) => needed.placeOf(own[row] as number),
        });
    }
  }
}

/** Consecutive tokens of a pass that are multiplied in one way: generated tokens, or those of prompts (layer-batches.ts). */
interface ChainRun {
  readonly chain: readonly ExpertOperation[];
  /** The experts that its tokens chose, and the place of the first among those of all tokens. */
  readonly choices: readonly number[];
  readonly first: number;
}

/** A chain of which products are divided by runs of tokens, and gates are not, as a chain for each run. */
function chainRuns(chain: readonly ExpertOperation[], choices: readonly number[]): ChainRun[] {
  const { matrix } = chain[0] as MultiplyExpertsOperation;
  const parts = chain.flatMap((one) =>
    one.kind === 'multiply-experts' && one.matrix.id === matrix.id ? [one.routes.values.length / ROUTE_NUMBERS] : [],
  );
  if (parts.length === 1) return [{ chain, choices, first: 0 }];
  let end = 0;
  return parts.map((count, run) => {
    const first = end;
    end += count;
    const part = (vector: Vector): Vector => {
      const width = vector.values.length / choices.length;
      return vector.slice(first * width, end * width);
    };
    /** Products of each matrix that were met. */
    const met = new Map<number, number>();
    const own = chain.flatMap((one): ExpertOperation[] => {
      if (one.kind === 'gate') return [{ ...one, gate: part(one.gate), up: part(one.up), y: part(one.y) }];
      const before = met.get(one.matrix.id) ?? 0;
      met.set(one.matrix.id, before + 1);
      return before === run ? [one] : [];
    });
    return { chain: own, choices: choices.slice(first, end), first };
  });
}

function finish(needed: NeededExperts): void {
  while (needed.next().length > 0);
}

/** Multiplies all choices of some tokens, once their experts are in memory. */
function multiplyAll(
  { kernels, route, own, scratch }: BroughtChain,
  { chain, choices, first }: ChainRun,
  needed: NeededExperts,
): void {
  const routes = scratch('routes', choices.length * ROUTE_NUMBERS);
  routes.values.set(route.y.values.subarray(first * ROUTE_NUMBERS, (first + choices.length) * ROUTE_NUMBERS));
  for (const [i, expert] of choices.entries()) routes.values[ROUTE_NUMBERS * i] = needed.placeOf(expert);
  kernels.write(routes);
  kernels.run(chain.map((operation) => inPlace(operation, own, { routes })));
}

/**
 * Multiplies a token's experts that are in memory while the others are read, and these as they come. Each has its rows among
 * the results, which are summed in the order of the choices afterwards.
 */
function multiplyInTurns(brought: BroughtChain, choices: readonly number[], needed: NeededExperts): void {
  const { kernels, chain, own, scratch } = brought;
  for (let come = needed.ready, left = choices.length; left > 0; come = needed.next()) {
    const rows = come.map((expert) => choices.indexOf(expert)).sort((a, b) => a - b);
    left -= rows.length;
    if (rows.length === 0) continue;
    const routes = scratch(`routes ${rows.length}`, rows.length * ROUTE_NUMBERS);
    for (const [i, row] of rows.entries())
      routes.values.set([needed.placeOf(choices[row] as number), 1], ROUTE_NUMBERS * i);
    const results = new Map<string, Vector>();
    /** Rows of a result for these choices alone. */
    const some = (vector: Vector): Vector => {
      const width = vector.values.length / choices.length;
      const known = results.get(keyOf(vector)) ?? scratch(keyOf(vector), rows.length * width);
      results.set(keyOf(vector), known);
      return known;
    };
    kernels.run(
      chain.map((operation): Operation => {
        if (operation.kind === 'gate') {
          const { gate, up, y } = operation;
          return { ...operation, gate: some(gate), up: some(up), y: some(y) };
        }
        // The token itself, or what was computed of it for each choice.
        const x = results.get(keyOf(operation.x)) ?? operation.x;
        return inPlace({ ...operation, used: rows.length, x, y: some(operation.y) }, own, { routes });
      }),
    );
    const { y } = chain.at(-1) as MultiplyExpertsOperation;
    const width = y.values.length / choices.length;
    const { values } = some(y);
    for (const [i, row] of rows.entries()) y.values.set(values.subarray(i * width, (i + 1) * width), row * width);
  }
}

function keyOf({ id, offset }: Vector): string {
  return `${id} ${offset}`;
}

interface GatheredRows extends Pick<BroughtChain, 'kernels' | 'chain' | 'own' | 'scratch'> {
  /** Choices, by their place among those of all tokens. */
  readonly rows: readonly number[];
  /** Choices of a token. */
  readonly used: number;
  readonly placeOf: (row: number) => number | undefined;
}

/** Multiplies some choices as tokens of their own, and brings the results to their places. */
function multiplyGathered({ kernels, chain, own: experts, scratch, rows, used, placeOf }: GatheredRows): void {
  const routes = scratch('routes', rows.length * ROUTE_NUMBERS);
  for (const [i, row] of rows.entries()) routes.values.set([placeOf(row) as number, 1], ROUTE_NUMBERS * i);
  const gathered = new Map<string, Vector>();
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
    return inPlace({ ...operation, ...own }, experts, { routes });
  });
  kernels.run(operations);
  const { y, rows: width } = chain.at(-1) as MultiplyExpertsOperation;
  const found = gathered.get(keyOf(y)) as Vector;
  for (const [i, row] of rows.entries()) y.values.set(found.values.subarray(i * width, (i + 1) * width), row * width);
}

function inPlace(operation: ExpertOperation, own: LayerExperts, { routes }: { readonly routes: Vector }): Operation {
  if (operation.kind === 'gate') return operation;
  return { ...operation, ...(own.placed(operation) as PlacedMatrix), routes };
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
