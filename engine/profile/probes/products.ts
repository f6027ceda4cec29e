import type { Kernels } from '../../kernels/kernels.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import { type Quantization, quantizedBytes } from '../../model/quantization.ts';
import { type Bench, isCpu, secondsPerOperations } from './bench.ts';

/**
 * The feed-forward network of a model of about a billion weights, which is most of a layer. Its inner values are so wide
 * that those of a few tokens don't fit into a first-level cache.
 */
const HIDDEN = 2048;
const INNER = 5632;
/** Its matrices: gate, up and down. */
const FEED_FORWARD = [
  { rows: INNER, columns: HIDDEN },
  { rows: INNER, columns: HIDDEN },
  { rows: HIDDEN, columns: INNER },
];
/** Matrix that GPUs are probed with, in place of FEED_FORWARD. */
const GPU_MATRIX = { rows: 4096, columns: 2048 };
/**
 * Tokens of a prompt that are multiplied at once: enough for kernels to share the unpacking of weights among tokens.
 */
export const PROMPT_TOKENS = 128;
/** Tokens of a short prompt that fill whole packs of a CPU, and a tile of a GPU. */
export const FEW_PROMPT_TOKENS = 32;
/**
 * Generated tokens of a pass, between which kernels change how many of them they multiply side by side: 8 at most, so that
 * a ninth costs more than the eighth.
 */
export const GENERATED_TOKENS = [2, 4, 8, 9, 16] as const;

/** Number of result vectors used in rotation on a GPU, so that products of one token can overlap. */
const RESULTS = { one: 64, prompt: 4 };

type Multiplied = MultiplyOperation['multiplied'];

/** Probes of products; each function makes one. */
export interface ProductProbes {
  /** Seconds per weight of a product with one token's vector, as in decode: weights come from memory. */
  vector(type: Quantization): () => Promise<number>;
  /** Seconds per weight and token of a product with many tokens, as in prefill. */
  matrix(type: Quantization): () => Promise<number>;
  /** Seconds per weight of a product with this many generated tokens of as many texts. */
  generated(type: Quantization, tokens: number): () => Promise<number>;
  /** Seconds per weight of a product with the tokens of a short prompt, or of the end of a longer one. */
  packed(type: Quantization, tokens: number): () => Promise<number>;
}

/** Probes that share the weights of each format, and activations: a GPU needs room for `weightBytes` of each only. */
export function productProbes(bench: Bench): ProductProbes {
  const shapes = isCpu(bench) ? FEED_FORWARD : [GPU_MATRIX];
  const weights = remembered((type: Quantization) => matricesInTurn(bench, type, shapes));
  const operations = remembered((tokens: number) => (isCpu(bench) ? feedForward : oneByOne)(bench, tokens));
  const weightsOfUnit = shapes.reduce((sum, { rows, columns }) => sum + rows * columns, 0);
  const probe = (type: Quantization, tokens: number, multiplied?: Multiplied) => {
    const [groups, of] = [weights(type), operations(tokens)];
    const perUnit = secondsPerOperations(bench, (index) => {
      return of(groups[index % groups.length] as readonly Matrix[], { index, multiplied });
    });
    return async () => (await perUnit()) / weightsOfUnit;
  };
  return {
    vector: (type) => probe(type, 1),
    matrix(type) {
      const measure = probe(type, PROMPT_TOKENS);
      return async () => (await measure()) / PROMPT_TOKENS;
    },
    generated: (type, tokens) => probe(type, tokens, 'singly'),
    packed: (type, tokens) => probe(type, tokens, 'together'),
  };
}

function remembered<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}

/** The operations of a unit of work on a group of matrices, the unit of this number. */
type Unit = (
  matrices: readonly Matrix[],
  { index, multiplied }: { readonly index: number; readonly multiplied: Multiplied },
) => readonly Operation[];

/**
 * Products as a layer has them: each waits for all threads of the one before it, and rounds its input anew. What lies
 * between them takes next to nothing.
 */
function feedForward({ kernels }: Bench, tokens: number): Unit {
  const [x, h, y] = [HIDDEN, HIDDEN, HIDDEN].map((width) => filled(kernels, tokens * width)) as Three<Vector>;
  const [gate, up, inner] = [INNER, INNER, INNER].map((width) => kernels.vector(tokens * width)) as Three<Vector>;
  const weight = filled(kernels, HIDDEN);
  return (matrices, { multiplied }) => {
    const [ofGate, ofUp, ofDown] = matrices as Three<Matrix>;
    return [
      { kind: 'rms-norm', x, weight, y: h, epsilon: 1e-5 },
      { kind: 'multiply', matrix: ofGate, x: h, y: gate, multiplied },
      { kind: 'multiply', matrix: ofUp, x: h, y: up, multiplied },
      { kind: 'gate', activation: 'silu', gate, up, y: inner },
      { kind: 'multiply', matrix: ofDown, x: inner, y, multiplied },
    ];
  };
}

type Three<Value> = [Value, Value, Value];

function oneByOne({ kernels }: Bench, tokens: number): Unit {
  const { rows, columns } = GPU_MATRIX;
  const x = filled(kernels, tokens * columns);
  const results = tokens === 1 ? RESULTS.one : RESULTS.prompt;
  const y = kernels.vector(results * tokens * rows);
  const parts = Array.from({ length: results }, (_, at) => y.slice(at * tokens * rows, (at + 1) * tokens * rows));
  return ([matrix], { index, multiplied }) => [
    { kind: 'multiply', matrix: matrix as Matrix, x, y: parts[index % results] as Vector, multiplied },
  ];
}

const filled = (kernels: Kernels, values: number): Vector => kernels.vector(new Float32Array(values).fill(0.01));

/** Groups of matrices that follow one another through the file, so that caches have evicted each when it comes again. */
function matricesInTurn(
  { kernels, weights, weightBytes }: Bench,
  type: Quantization,
  shapes: readonly { readonly rows: number; readonly columns: number }[],
): Matrix[][] {
  const bytesOf = ({ rows, columns }: (typeof shapes)[number]): number => rows * quantizedBytes(columns, type);
  const bytes = shapes.reduce((sum, shape) => sum + bytesOf(shape), 0);
  return Array.from({ length: Math.floor(weightBytes / bytes) }, (_, index) => {
    let offset = index * bytes;
    return shapes.map((shape) => {
      const matrix = kernels.matrix({ source: weights, offset, type, ...shape });
      offset += bytesOf(shape);
      return matrix;
    });
  });
}
