import { OPERATORS } from '../../engine/model/operators.ts';
import type { Graph } from '../../engine/runtime/second-processor.ts';

/** Memory that the control thread and the thread of the NPU share, as the processors of a chip do (HeteroLLM 4.2). */
export interface Channel {
  /** Counters (SUBMITTED, FINISHED, SLEEP, FORGOTTEN), then the graphs that were submitted, SLOTS at most. */
  readonly control: Int32Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
}

/**
 * Number of graphs that were submitted, that are done, a place at which nobody wakes a sleeper, and how often generated
 * graphs were forgotten.
 */
export const [SUBMITTED, FINISHED, SLEEP, FORGOTTEN] = [0, 1, 2, 3] as const;
const COUNTERS = 4;
/** Graphs that may be under way. */
const SLOTS = 64;
const FIELDS = ['operator', 'layer', 'rows', 'columns', 'length', 'tokens', 'xAt', 'yAt'] as const;

/** @param values most values of x and of results that are under way together */
export function createChannel(values: { readonly x: number; readonly y: number }): Channel {
  const floats = (count: number): Float32Array => new Float32Array(new SharedArrayBuffer(4 * count));
  return {
    control: new Int32Array(new SharedArrayBuffer(4 * (COUNTERS + SLOTS * FIELDS.length))),
    x: floats(values.x),
    y: floats(values.y),
  };
}

/** A graph as it lies in the channel. */
export interface SubmittedGraph extends Omit<Graph, 'x'> {
  readonly x: Float32Array;
  readonly y: Float32Array;
}

const slotOf = (number: number): number => COUNTERS + (number % SLOTS) * FIELDS.length;

/** Writes graph `number`, with x and results at these places, without notifying anybody. */
export function writeGraph(
  { control, x }: Channel,
  number: number,
  graph: Omit<Graph, 'rounding'>,
  at: { readonly x: number; readonly y: number },
): void {
  const { name, layer, rows, columns, length } = graph;
  x.set(graph.x, at.x);
  const tokens = graph.x.length / columns;
  control.set([OPERATORS.indexOf(name), layer, rows, columns, length, tokens, at.x, at.y], slotOf(number));
}

/** Graph `number`, as it was written. */
export function readGraph({ control, x, y }: Channel, number: number): SubmittedGraph {
  const slot = slotOf(number);
  const field = (name: (typeof FIELDS)[number]): number => control[slot + FIELDS.indexOf(name)] as number;
  const [rows, columns, length] = [field('rows'), field('columns'), field('length')];
  return {
    name: OPERATORS[field('operator')] as Graph['name'],
    layer: field('layer'),
    ...{ rows, columns, length },
    x: x.subarray(field('xAt'), field('xAt') + field('tokens') * columns),
    y: y.subarray(field('yAt'), field('yAt') + length * rows),
  };
}
