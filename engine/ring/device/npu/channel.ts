import { OPERATORS } from '../../../model/operators.ts';
import type { Graph } from '../../../runtime/cut/second-processor.ts';

/** Memory that the control thread and the thread of the NPU share, as the processors of a chip do (HeteroLLM 4.2). */
export interface Channel {
  /** Counters (SUBMITTED, FINISHED, SLEEP, FORGOTTEN), then the graphs that were submitted, MOST_GRAPHS at most. */
  readonly control: Int32Array;
  /** Activations of the control thread, and x and results of graphs that can't stay in them. */
  readonly values: Float32Array;
}

/**
 * Places of counters: graphs submitted, graphs done, a place that is never notified and serves for sleeping, and how
 * often generated graphs were forgotten.
 */
export const [SUBMITTED, FINISHED, SLEEP, FORGOTTEN] = [0, 1, 2, 3] as const;
const COUNTERS = 4;
/** Graphs that may be under way. */
export const MOST_GRAPHS = 64;
/** Products of an operator: queries, keys and values. */
const MOST_PRODUCTS = 3;
const FIELDS = [
  'operator',
  'layer',
  'rows',
  'columns',
  'length',
  'x',
  'xValues',
  'accumulate',
  'merged',
  'places',
] as const;
/** Numbers per product: where its results begin, and how many values they are. */
const PLACE = 2;
const SLOT = FIELDS.length + PLACE * MOST_PRODUCTS;

/** @param values of activations, of graphs that are under way */
export function createChannel(values: number): Channel {
  return {
    control: new Int32Array(new SharedArrayBuffer(4 * (COUNTERS + MOST_GRAPHS * SLOT))),
    values: new Float32Array(new SharedArrayBuffer(4 * values)),
  };
}

/** A graph in the channel, with all values in its memory. */
export interface SubmittedGraph extends Omit<Graph, 'rounding' | 'places'>, Required<Pick<Graph, 'places'>> {
  /** Whether results have one place, from which the control thread merges them. */
  readonly isMerged: boolean;
}

const slotOf = (number: number): number => COUNTERS + (number % MOST_GRAPHS) * SLOT;

/** Writes graph `number`, without notifying anybody. */
export function writeGraph({ control }: Channel, number: number, graph: SubmittedGraph): void {
  const { name, layer, rows, columns, length, x, isMerged, places } = graph;
  const at = (values: Float32Array): number => values.byteOffset / values.BYTES_PER_ELEMENT;
  const accumulate = places.some((place) => place.accumulate) ? 1 : 0;
  const operator = OPERATORS.indexOf(name);
  const shape = [operator, layer, rows, columns, length, at(x), x.length];
  const results = [accumulate, isMerged ? 1 : 0, places.length];
  control.set([...shape, ...results, ...places.flatMap(({ values }) => [at(values), values.length])], slotOf(number));
}

/** Graph `number`, as it was written. */
export function readGraph({ control, values }: Channel, number: number): SubmittedGraph {
  const slot = slotOf(number);
  const field = (name: (typeof FIELDS)[number]): number => control[slot + FIELDS.indexOf(name)] as number;
  const valuesAt = (at: number, count: number): Float32Array => values.subarray(at, at + count);
  const places = Array.from({ length: field('places') }, (_, index) => {
    const place = slot + FIELDS.length + PLACE * index;
    const own = valuesAt(control[place] as number, control[place + 1] as number);
    return { values: own, accumulate: field('accumulate') === 1 };
  });
  return {
    name: OPERATORS[field('operator')] as Graph['name'],
    layer: field('layer'),
    rows: field('rows'),
    columns: field('columns'),
    length: field('length'),
    x: valuesAt(field('x'), field('xValues')),
    isMerged: field('merged') === 1,
    places,
  };
}
