import type { Kernels } from '../../kernels/kernels.ts';
import type { MultiplyOperation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { OperatorName } from '../../model/operators.ts';
import type { Linear, WeightsLoader } from '../weights/transformer-weights.ts';

/** A product of fixed shape: an operator's first rows for this many tokens, as an NPU's static graph has it. */
export interface Graph {
  readonly name: OperatorName;
  readonly layer: number;
  readonly rows: number;
  readonly columns: number;
  /** Tokens of the graph; those that x lacks are padding. */
  readonly length: number;
  /** [tokens][columns]; only valid until `begin` returns */
  readonly x: Float32Array;
  /** Places for the results of the operator's products, each in turn, if they lie in one piece: [length][its rows]. */
  readonly places?: readonly ResultPlace[];
}

/** Values that a product's results replace, or are added to. */
export interface ResultPlace {
  readonly values: Float32Array;
  readonly accumulate: boolean;
}

/**
 * Values of a graph, for each of the operator's products in turn: [length][its rows], until the operator's next graph;
 * `undefined` if they are in their places.
 */
export type GraphResult = () => Float32Array | undefined | Promise<Float32Array>;

/** Computes graphs in parallel with this thread, one after the other: a GPU, or what else stands for an NPU. */
export interface SecondProcessor {
  /** Begins a graph. Its result may be asked for once, when this thread has nothing else to do. */
  begin(graph: Graph): GraphResult;
  /** Reserves memory that this thread sees as well, where there is such (fast synchronisation, HeteroLLM 4.2). */
  readonly reserve?: (values: number) => Float32Array;
}

/**
 * Kernels as a second processor. A GPU's compute in parallel with this thread, and results come back by copies (naive
 * synchronisation, HeteroLLM 3.1).
 * @param shared a vector over memory that the first processor sees as well: x there is read, and results that belong
 *   there are written, where they are
 */
export function kernelsAsSecond(
  kernels: Kernels,
  weights: Pick<WeightsLoader, 'rows'>,
  shared?: Vector,
): SecondProcessor {
  const inShared = (values: Float32Array): Vector | undefined => {
    if (shared === undefined || values.buffer !== shared.values.buffer) return undefined;
    const from = (values.byteOffset - shared.values.byteOffset) / values.BYTES_PER_ELEMENT;
    return shared.slice(from, from + values.length);
  };
  const loaded = new Map<string, readonly Linear[]>();
  const room = new Map<string, Vector>();
  const vector = (use: string, values: number): Vector => {
    const found = room.get(`${use} ${values}`) ?? kernels.vector(values);
    room.set(`${use} ${values}`, found);
    return found;
  };
  const matrices = (name: OperatorName, layer: number, count: number): readonly Linear[] => {
    const key = `${name} ${layer} ${count}`;
    const found = loaded.get(key) ?? weights.rows(name, layer, { from: 0, count });
    loaded.set(key, found);
    return found;
  };
  /** A copy of x with zeros for the tokens that it lacks. */
  const padded = (x: Float32Array, place: number, values: number): Vector => {
    const input = vector(`x ${place}`, values);
    input.values.fill(0, x.length);
    input.values.set(x);
    kernels.write(input);
    return input;
  };
  /** Graphs under way, each of which needs vectors of its own. */
  let under = 0;
  return {
    begin({ name, layer, rows, columns, length, x, places }) {
      const linears = matrices(name, layer, rows);
      const targets = places?.map(({ values }) => inShared(values));
      const inPlace = targets?.every((target) => target !== undefined) === true;
      const place = under++;
      const input = (x.length === length * columns ? inShared(x) : undefined) ?? padded(x, place, length * columns);
      const y = inPlace ? undefined : vector(`y ${place}`, length * rows);
      let at = 0;
      const operations = linears.map((linear, index): MultiplyOperation => {
        const from = at;
        at += length * linear.matrix.rows;
        const target = y?.slice(from, at) ?? (targets?.[index] as Vector);
        const accumulate = inPlace && places?.[index]?.accumulate === true;
        return { kind: 'multiply', ...linear, accumulate, x: input, y: target };
      });
      kernels.run(operations);
      if (y === undefined) {
        under--;
        return () => undefined;
      }
      const arriving = kernels.read(y);
      return () => {
        under--;
        return arriving === undefined ? y.values : arriving.then(() => y.values);
      };
    },
  };
}
