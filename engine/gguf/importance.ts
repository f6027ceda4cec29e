import { InputError } from '../input/input-error.ts';
import type { ByteSource } from './byte-source.ts';
import { dequantize } from './formats/formats.ts';
import type { Gguf, GgufTensor } from './gguf.ts';
import type { Metadata } from './metadata-value.ts';
import { readGguf } from './read-gguf.ts';
import { type TensorSource, writeGguf } from './write-gguf.ts';

/** Inputs that a matrix was multiplied with while a model read a text. */
export interface Inputs {
  /** Σ x² of each column over all tokens: [columns]. */
  readonly squares: ArrayLike<number>;
  readonly tokens: number;
}

/**
 * An importance matrix: how large the inputs of each weight matrix are, column by column. An error in a column counts
 * as much as its inputs are large, as the expected squared error of a product is Σ E[x²] (w − ŵ)² for inputs that vary
 * independently of each other.
 */
export interface Importance {
  /** Names of the texts. */
  readonly datasets: readonly string[];
  readonly chunks: number;
  /** Tokens of a chunk. */
  readonly chunkTokens: number;
  /** By the names of the matrices in GGUF files. */
  readonly inputs: ReadonlyMap<string, Inputs>;
}

/** Far more columns than a matrix of any model has. */
const MOST_COLUMNS = 2 ** 24;

const SQUARES = '.in_sum2';
const TOKENS = '.counts';

/** Writes an importance matrix as llama.cpp does, so that its quantizer reads it. */
export async function writeImportance(path: string, importance: Importance): Promise<void> {
  const { datasets, chunks, chunkTokens, inputs } = importance;
  const metadata: Metadata = new Map([
    ['general.type', { type: 'string', value: 'imatrix' }],
    ['imatrix.datasets', { type: 'array', value: { of: 'string', values: datasets } }],
    ['imatrix.chunk_count', { type: 'uint32', value: chunks }],
    ['imatrix.chunk_size', { type: 'uint32', value: chunkTokens }],
  ]);
  const tensor = (name: string, shape: readonly number[], values: ArrayLike<number>): TensorSource => ({
    name,
    shape,
    type: 'F32',
    pieces: () => [new Uint8Array(Float32Array.from(values).buffer)],
  });
  const tensors = [...inputs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { squares, tokens }]) => [
      tensor(name + SQUARES, [squares.length, 1], squares),
      tensor(name + TOKENS, [1, 1], [tokens]),
    ]);
  await writeGguf(path, metadata, tensors);
}

/**
 * Reads an importance matrix that Hearth or llama.cpp wrote.
 * @throws InputError for other files, matrices of several experts, and numbers that are not finite or negative
 */
export function readImportance(bytes: ByteSource): Importance {
  const gguf = readGguf(bytes);
  const { file, fields, tensors } = gguf;
  if (fields.optionalText('general.type') !== 'imatrix')
    throw new InputError(file, 'is not an importance matrix; make one with: hearth importance');
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const inputs = new Map<string, Inputs>();
  for (const { name } of tensors) {
    if (!name.endsWith(SQUARES)) continue;
    const matrix = name.slice(0, -SQUARES.length);
    const [squares, counts] = [name, matrix + TOKENS].map((one) => readValues(gguf, bytes, byName.get(one), one));
    if (counts?.length !== 1)
      throw new InputError(
        file,
        `${matrix} has the inputs of ${counts?.length} experts; only dense models are supported`,
      );
    inputs.set(matrix, { squares: squares as Float32Array, tokens: counts[0] as number });
  }
  if (inputs.size === 0) throw new InputError(file, 'holds no tensor NAME.in_sum2; make one with: hearth importance');
  return {
    datasets: [...(fields.optionalTexts('imatrix.datasets') ?? [])],
    chunks: fields.optionalCount('imatrix.chunk_count', Number.MAX_SAFE_INTEGER) ?? 0,
    chunkTokens: fields.optionalCount('imatrix.chunk_size', Number.MAX_SAFE_INTEGER) ?? 0,
    inputs,
  };
}

function readValues({ file }: Gguf, bytes: ByteSource, tensor: GgufTensor | undefined, name: string): Float32Array {
  if (tensor === undefined) throw new InputError(file, `tensor ${name} is missing`);
  const count = tensor.shape.reduce((product, length) => product * length, 1);
  if (count > MOST_COLUMNS)
    throw new InputError(
      file,
      `tensor ${name} has ${count} values; at most ${MOST_COLUMNS}, as no matrix has more columns`,
    );
  const values = new Float32Array(count);
  dequantize(tensor.type, bytes.read(tensor.offset, tensor.bytes), values);
  if (!values.every((value) => value >= 0 && value < Number.POSITIVE_INFINITY))
    throw new InputError(file, `tensor ${name} has a value that is negative or not finite`);
  return values;
}

/** Share of the mean that is added to every column, so that one whose inputs were all zero counts a little as well. */
const LEAST_SHARE = 1e-4;

/**
 * Weight of each column's squared error, 1 on average; `undefined` where nothing is known of the matrix.
 * @throws InputError if the matrix has another number of columns
 */
export function columnWeights(importance: Importance, name: string, columns: number): Float32Array | undefined {
  const found = importance.inputs.get(name);
  if (found === undefined) return undefined;
  const { squares, tokens } = found;
  if (squares.length !== columns)
    throw new InputError(
      name,
      `the importance matrix has ${squares.length} columns, the model ${columns}; is it of another model?`,
    );
  let sum = 0;
  for (let column = 0; column < columns; column++) sum += squares[column] as number;
  if (tokens === 0 || sum === 0) return undefined;
  const mean = sum / columns;
  return Float32Array.from(squares, (square) => (square / mean + LEAST_SHARE) / (1 + LEAST_SHARE));
}
