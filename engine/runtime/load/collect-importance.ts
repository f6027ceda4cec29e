import { withFile } from '../../gguf/file-source.ts';
import type { Inputs } from '../../gguf/importance.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import { observedInputs } from '../observed/observed-inputs.ts';
import { loadTransformer } from './load-transformer.ts';

export interface TextToObserve {
  readonly model: string;
  /** On a CPU. */
  readonly kernels: Kernels;
  /** Texts of at most `context` tokens, each of which begins anew. */
  readonly chunks: readonly (readonly number[])[];
  readonly context: number;
  readonly onChunk?: (chunk: number) => void;
}

/**
 * Runs a model over texts and sums what each matrix of its layers is multiplied with: Σ x² of every column, in double
 * precision.
 * @throws InputError as loadTransformer does
 */
export function collectImportance({ model, kernels, chunks, context, onChunk }: TextToObserve): Map<string, Inputs> {
  const inputs = new Map<string, { squares: Float64Array; tokens: number }>();
  const gguf = withFile(model, readGguf);
  const columnsOf = new Map(gguf.tensors.map(({ name, shape }) => [name, shape[0] ?? 0]));
  const observed = observedInputs(kernels, gguf, (name, x) => {
    const columns = columnsOf.get(name) ?? 0;
    const sums = inputs.get(name) ?? { squares: new Float64Array(columns), tokens: 0 };
    inputs.set(name, sums);
    sums.tokens += x.length / columns;
    for (let at = 0; at < x.length; at += columns) addSquares(sums.squares, x, at);
  });
  const transformer = loadTransformer(model, { kernels: observed, context });
  for (const [index, chunk] of chunks.entries()) {
    onChunk?.(index);
    transformer.rewind(0);
    transformer.evaluate(chunk);
  }
  return inputs;
}

function addSquares(squares: Float64Array, x: Float32Array, at: number): void {
  for (let column = 0; column < squares.length; column++) {
    const value = x[at + column] as number;
    squares[column] = (squares[column] as number) + value * value;
  }
}

/**
 * Cuts a text into chunks of `size` tokens; what is left at the end is omitted, unless there is no whole chunk.
 * @param begin a token that begins every chunk, which it counts among; `undefined`: none
 */
export function chunksOf(tokens: readonly number[], size: number, begin: number | undefined): number[][] {
  const own = begin === undefined ? [] : [begin];
  const text = size - own.length;
  const count = Math.max(1, Math.floor(tokens.length / text));
  return Array.from({ length: count }, (_, index) => [...own, ...tokens.slice(index * text, (index + 1) * text)]);
}
