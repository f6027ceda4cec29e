import type { Kernels } from '../kernels/kernels.ts';
import type { MultiplyOperation } from '../kernels/operation.ts';
import type { Vector } from '../kernels/vector.ts';
import type { OperatorName } from '../model/operators.ts';
import type { Linear, WeightsLoader } from './transformer-weights.ts';

/** A product of fixed shape: an operator's first rows for so many tokens, as an NPU's static graph has it. */
export interface Graph {
  readonly name: OperatorName;
  readonly layer: number;
  readonly rows: number;
  readonly columns: number;
  /** Tokens of the graph; those that x lacks are padding. */
  readonly length: number;
  /** [tokens][columns]; only valid until `begin` returns */
  readonly x: Float32Array;
  readonly rounding?: MultiplyOperation['rounding'];
}

/** Values of a graph, for each of the operator's products in turn: [length][its rows], until the operator's next graph. */
export type GraphResult = () => Float32Array | Promise<Float32Array>;

/** Computes graphs beside this thread, one after the other: a GPU, or what else stands for an NPU. */
export interface SecondProcessor {
  /** Begins a graph. Its result may be asked for once, when this thread has nothing else to do. */
  begin(graph: Graph): GraphResult;
}

/** Kernels that compute beside this thread, as a GPU's do. Results come back by copies (naive synchronisation, 3.1). */
export function kernelsAsSecond(kernels: Kernels, weights: WeightsLoader): SecondProcessor {
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
  /** Graphs under way, each of which needs vectors of its own. */
  let under = 0;
  return {
    begin({ name, layer, rows, columns, length, x, rounding }) {
      const place = under++;
      const input = vector(`x ${place}`, length * columns);
      input.values.fill(0, x.length);
      input.values.set(x);
      kernels.write(input);
      const y = vector(`y ${place}`, length * rows);
      let at = 0;
      const operations = matrices(name, layer, rows).map((linear): MultiplyOperation => {
        const from = at;
        at += length * linear.matrix.rows;
        return { kind: 'multiply', ...linear, ...(rounding && { rounding }), x: input, y: y.slice(from, at) };
      });
      kernels.run(operations);
      const arriving = kernels.read(y);
      return () => {
        under--;
        return arriving === undefined ? y.values : arriving.then(() => y.values);
      };
    },
  };
}
