import type { Kernels } from '../kernels/kernels.ts';
import type { MultiplyOperation, Operation } from '../kernels/operation.ts';
import type { Vector } from '../kernels/vector.ts';
import type { OperatorName } from '../model/operators.ts';
import type { OperatorCut } from '../plan/tensor-partition.ts';
import type { Linear, WeightsLoader } from './transformer-weights.ts';

/**
 * The two processors that share operators, and where each gets its weights. The main one computes on this thread, in
 * RAM; the second one computes meanwhile if it has threads of its own, as a GPU does.
 */
export interface CutProcessors {
  readonly main: { readonly kernels: Kernels; readonly weights: WeightsLoader };
  readonly second: { readonly kernels: Kernels; readonly weights: WeightsLoader };
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
  readonly linear: Linear;
  readonly product: number;
  readonly column: number;
  readonly count: number;
}

/**
 * Runs operators in two parts at the same time (HeteroLLM 4.1): the second processor multiplies its rows for the first
 * tokens, in graphs of fixed lengths of which the last may be padded, while the main one has the other rows of those
 * tokens and all rows of the others. The second part's results are merged by this thread.
 */
export function cutProducts({ main, second }: CutProcessors, cutOf: (name: OperatorName) => OperatorCut): CutProduct {
  const pieces = new Map<string, readonly Piece[]>();
  const room = new Map<string, Vector>();
  const vector = (kernels: Kernels, use: string, values: number): Vector => {
    const found = room.get(`${use} ${values}`) ?? kernels.vector(values);
    room.set(`${use} ${values}`, found);
    return found;
  };
  const piecesOf = (
    { kernels, weights }: CutProcessors['main'],
    { name, layer, products }: OperatorProducts,
    from: number,
    count: number,
  ): readonly Piece[] => {
    const key = `${kernels === main.kernels ? 'main' : 'second'} ${name} ${layer} ${from} ${count}`;
    const found = pieces.get(key) ?? toPieces(weights.rows(name, layer, { from, count }), products, from);
    pieces.set(key, found);
    return found;
  };

  return async (operator, tokens) => {
    const { name, products } = operator;
    const { npuRows, npuLengths } = cutOf(name);
    const [{ x, accumulate = false, rounding }] = products as [MultiplyOperation];
    const exactness = rounding === undefined ? {} : { rounding };
    const columns = x.values.length / tokens;
    const rows = products.reduce((sum, { matrix }) => sum + matrix.rows, 0);
    const covered = npuRows === 0 ? 0 : Math.min(tokens, sumOf(npuLengths));
    const own = covered === 0 ? [] : piecesOf(second, operator, 0, npuRows);
    const results: { readonly values: Vector; readonly first: number; readonly count: number }[] = [];
    let first = 0;
    for (const length of covered === 0 ? [] : npuLengths) {
      const count = Math.min(length, tokens - first);
      const input = vector(second.kernels, `x ${first}`, length * columns);
      input.values.fill(0);
      input.values.set(x.values.subarray(first * columns, (first + count) * columns));
      second.kernels.write(input);
      const values = vector(second.kernels, `y ${first}`, length * npuRows);
      second.kernels.run(graph(own, exactness, input, values, length));
      results.push({ values, first, count });
      first += length;
    }
    const arriving = results.map(({ values }) => second.kernels.read(values));
    const others = piecesOf(main, operator, npuRows, rows - npuRows);
    const temporaries =
      covered > 0 && npuRows < rows ? vector(main.kernels, 'rest', covered * (rows - npuRows)) : undefined;
    const operations: Operation[] = [];
    if (temporaries !== undefined)
      operations.push(...graph(others, exactness, x.slice(0, covered * columns), temporaries, covered));
    if (covered < tokens) {
      for (const product of products) {
        const { matrix, y } = product;
        const rest = y.slice(covered * matrix.rows, tokens * matrix.rows);
        operations.push({ ...product, x: x.slice(covered * columns, tokens * columns), y: rest });
      }
    }
    main.kernels.run(operations);
    if (temporaries !== undefined)
      merge(others, products, { values: temporaries, first: 0, count: covered, accumulate });
    await Promise.all(arriving);
    for (const result of results) merge(own, products, { ...result, accumulate });
  };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** The pieces of rows that begin at row `from` of an operator. */
function toPieces(linears: readonly Linear[], products: readonly MultiplyOperation[], from: number): Piece[] {
  let row = from;
  return linears.map((linear) => {
    const count = linear.matrix.rows;
    let begin = 0;
    const product = products.findIndex(({ matrix }) => {
      if (row < begin + matrix.rows) return true;
      begin += matrix.rows;
      return false;
    });
    const column = row - begin;
    row += count;
    return { linear, product, column, count };
  });
}

/** The products of pieces, one after the other in `y`: [tokens][rows of the piece] each. */
function graph(
  pieces: readonly Piece[],
  exactness: Pick<MultiplyOperation, 'rounding'>,
  x: Vector,
  y: Vector,
  tokens: number,
): MultiplyOperation[] {
  let at = 0;
  return pieces.map(({ linear, count }) => {
    const from = at;
    at += tokens * count;
    return { kind: 'multiply', ...linear, ...exactness, x, y: y.slice(from, at) };
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
  }: { readonly values: Vector; readonly first: number; readonly count: number; readonly accumulate: boolean },
): void {
  const length = values.values.length / sumOf(pieces.map(({ count }) => count));
  let at = 0;
  for (const { product, column, count } of pieces) {
    const { y, matrix } = products[product] as MultiplyOperation;
    for (let token = 0; token < tokens; token++) {
      const from = at + token * count;
      const to = (first + token) * matrix.rows + column;
      if (!accumulate) y.values.set(values.values.subarray(from, from + count), to);
      else
        for (let i = 0; i < count; i++)
          y.values[to + i] = (y.values[to + i] as number) + (values.values[from + i] as number);
    }
    at += length * count;
  }
}
