import type { Kernels } from '../../kernels/kernels.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { OperatorName } from '../../model/operators.ts';
import type { OperatorCut } from '../../plan/tensor-partition.ts';
import type { Linear, WeightsLoader } from '../weights/transformer-weights.ts';
import type { GraphResult, SecondProcessor } from './second-processor.ts';

/** The two processors that share operators: one computes on this thread, in RAM, the other meanwhile. */
export interface CutProcessors {
  readonly main: { readonly kernels: Kernels; readonly weights: WeightsLoader };
  readonly second: SecondProcessor;
}

/** The products of one operator, which read the same x: queries, keys and values, or gate and up. */
export interface OperatorProducts {
  readonly name: OperatorName;
  readonly layer: number;
  /** On the main processor, in the order of the operator's rows. */
  readonly products: readonly MultiplyOperation[];
}

/** Runs an operator; results are in the vectors of the main processor when the promise is fulfilled. */
export type CutProduct = (products: OperatorProducts, tokens: number) => Promise<void>;

/** A run of an operator's rows that belongs to one product: the values from `column` on of its result. */
interface Piece {
  readonly product: number;
  readonly column: number;
  readonly count: number;
}

/**
 * Runs operators in two parts at the same time (HeteroLLM 4.1): the second processor multiplies its rows for the first
 * tokens, in graphs of fixed lengths of which the last may be padded and those that no token is left for don't run, while the main one has the other rows of those
 * tokens and all rows of the others. Results that lie in one piece where they belong, as those of whole rows and of a
 * single token do, are written there, by a second processor that shares this one's memory too; the others are merged by
 * this thread.
 */
export function cutProducts({ main, second }: CutProcessors, cutOf: (name: OperatorName) => OperatorCut): CutProduct {
  const { kernels } = main;
  const rest = new Map<string, readonly Linear[]>();
  const room = new Map<number, Vector>();
  const vector = (values: number): Vector => {
    const found = room.get(values) ?? kernels.vector(values);
    room.set(values, found);
    return found;
  };
  /** The matrices of an operator's rows from `from` on. */
  const restOf = ({ name, layer }: OperatorProducts, from: number, count: number): readonly Linear[] => {
    const key = `${name} ${layer} ${from}`;
    const found = rest.get(key) ?? main.weights.rows(name, layer, { from, count });
    rest.set(key, found);
    return found;
  };

  return async (operator, tokens) => {
    const { name, layer, products } = operator;
    const { npuRows, npuLengths } = cutOf(name);
    const [{ x, accumulate = false }] = products as [MultiplyOperation];
    const columns = x.values.length / tokens;
    const rows = products.reduce((sum, { matrix }) => sum + matrix.rows, 0);
    const covered = npuRows === 0 ? 0 : Math.min(tokens, sumOf(npuLengths));
    const results: { readonly values: GraphResult; readonly first: number; readonly count: number }[] = [];
    const secondPieces = piecesOf(products, 0, npuRows);
    let first = 0;
    for (const length of covered === 0 ? [] : npuLengths) {
      if (first >= tokens) break;
      const count = Math.min(length, tokens - first);
      const own = x.values.subarray(first * columns, (first + count) * columns);
      const graph = { name, layer, rows: npuRows, columns, length, x: own };
      const places = count === length ? placesOf(secondPieces, products, { first, count }) : undefined;
      const at = places?.map(({ values }) => ({ values, accumulate }));
      const values = second.begin(at === undefined ? graph : { ...graph, places: at });
      results.push({ values, first, count });
      first += length;
    }
    const shared = covered > 0 && npuRows < rows;
    const mainPieces = piecesOf(products, npuRows, rows - npuRows);
    const places = shared ? placesOf(mainPieces, products, { first: 0, count: covered }) : undefined;
    const temporaries = shared && places === undefined ? vector(covered * (rows - npuRows)) : undefined;
    const operations: Operation[] = [];
    if (shared) {
      const linears = restOf(operator, npuRows, rows - npuRows);
      const input = x.slice(0, covered * columns);
      if (temporaries !== undefined) operations.push(...inTurn(linears, input, temporaries, covered));
      places?.forEach((y, index) => {
        operations.push({ kind: 'multiply', ...(linears[index] as Linear), accumulate, x: input, y });
      });
    }
    if (covered < tokens) {
      for (const product of products) {
        const { matrix, y } = product;
        const others = y.slice(covered * matrix.rows, tokens * matrix.rows);
        operations.push({ ...product, x: x.slice(covered * columns, tokens * columns), y: others });
      }
    }
    kernels.run(operations);
    if (temporaries !== undefined) {
      merge(mainPieces, products, { values: temporaries.values, first: 0, count: covered, accumulate });
    }
    for (const { values, ...tokens } of results) {
      const found = await values();
      if (found !== undefined) merge(secondPieces, products, { values: found, ...tokens, accumulate });
    }
  };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** The pieces of an operator's rows from `from` on, `count` in all. */
function piecesOf(products: readonly MultiplyOperation[], from: number, count: number): Piece[] {
  let begin = 0;
  return products.flatMap(({ matrix }, product): Piece[] => {
    const column = Math.max(0, from - begin);
    const end = Math.min(matrix.rows, from + count - begin);
    begin += matrix.rows;
    return end > column ? [{ product, column, count: end - column }] : [];
  });
}

/** Places for the results of pieces for `count` tokens from `first` on; `undefined` if one of them isn't in one run. */
function placesOf(
  pieces: readonly Piece[],
  products: readonly MultiplyOperation[],
  { first, count: tokens }: { readonly first: number; readonly count: number },
): readonly Vector[] | undefined {
  const rowsOf = ({ product }: Piece): number => (products[product] as MultiplyOperation).matrix.rows;
  if (tokens > 1 && pieces.some((piece) => piece.count < rowsOf(piece))) return undefined;
  return pieces.map((piece) => {
    const from = first * rowsOf(piece) + piece.column;
    return (products[piece.product] as MultiplyOperation).y.slice(from, from + tokens * piece.count);
  });
}

/** The products of matrices, one after the other in `y`: [tokens][rows] each. */
function inTurn(linears: readonly Linear[], x: Vector, y: Vector, tokens: number): MultiplyOperation[] {
  let at = 0;
  return linears.map((linear) => {
    const from = at;
    at += tokens * linear.matrix.rows;
    return { kind: 'multiply', ...linear, x, y: y.slice(from, at) };
  });
}

/** Puts the results of pieces for `count` tokens from `first` on where the operator's results belong, or adds them. */
function merge(
  pieces: readonly Piece[],
  products: readonly MultiplyOperation[],
  {
    values,
    first,
    count: tokens,
    accumulate,
  }: { readonly values: Float32Array; readonly first: number; readonly count: number; readonly accumulate: boolean },
): void {
  const length = values.length / sumOf(pieces.map(({ count }) => count));
  let at = 0;
  for (const { product, column, count } of pieces) {
    const { y, matrix } = products[product] as MultiplyOperation;
    for (let token = 0; token < tokens; token++) {
      const from = at + token * count;
      const to = (first + token) * matrix.rows + column;
      if (!accumulate) y.values.set(values.subarray(from, from + count), to);
      else
        for (let i = 0; i < count; i++) y.values[to + i] = (y.values[to + i] as number) + (values[from + i] as number);
    }
    at += length * count;
  }
}
