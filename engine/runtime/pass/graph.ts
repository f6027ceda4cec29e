import type { ByteSource } from '../../gguf/byte-source.ts';
import type { Gguf } from '../../gguf/gguf.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { transformerSettings } from '../../gguf/transformer-settings.ts';
import { firstSeen } from '../../kernels/first-seen.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { DeltaRuleOperation, Operation, SelectiveScanOperation } from '../../kernels/operation.ts';
import { type Vector, vectorOver } from '../../kernels/vector.ts';
import { distinctExperts } from '../../model/feed-forward.ts';
import { FLOPS_PER_STATE_VALUE } from '../../model/kept-bytes.ts';
import { checkKvFormat, DEFAULT_KV_FORMAT, type KvFormat, kvBytesPerToken } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import { type Quantization, quantizedBytes } from '../../model/quantization.ts';
import { loadWeights } from '../weights/transformer-weights.ts';
import { createActivations } from './activations.ts';
import { contextOf } from './context-cache.ts';
import { forward } from './forward.ts';
import { layerBatches, passSegments } from './layer-batches.ts';
import { readRotations } from './rotations.ts';

/** An operation of the forward pass, and what it costs. */
export interface GraphNode {
  /** Its place in the order of execution. */
  readonly index: number;
  readonly kind: Operation['kind'];
  /** The tensor of its weights in the file, and its format; `undefined` for operations without a matrix. */
  readonly weights: { readonly tensor: string; readonly format: Quantization } | undefined;
  /** Shape of what it reads and of what it writes, tokens first. */
  readonly input: readonly number[];
  readonly output: readonly number[];
  /** FLOPs of products with weights (2 per weight and token) and of attention (HELM Eqs. 4.9, 4.11); 0 for others. */
  readonly flops: number;
  /** Bytes of weights and of KV cache that it reads. */
  readonly weightBytes: number;
  readonly cacheBytes: number;
  /** The operations whose results it reads. */
  readonly after: readonly number[];
}

/** A partition unit: what a split can put on one processor (HELM 4.1.1). */
export interface GraphUnit {
  /** `embedding`, `layer 0` …, `output` */
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  readonly flops: number;
  readonly weightBytes: number;
  readonly cacheBytes: number;
  /**
   * Tensor that crosses to the next unit: the residual stream, F32. The last unit's logits stay where they are
   * computed.
   */
  readonly crossing: { readonly shape: readonly number[]; readonly bytes: number } | undefined;
}

export interface ModelGraph {
  readonly model: Model;
  readonly tokens: number;
  readonly context: number;
  readonly units: readonly GraphUnit[];
}

/** The tokens for which a graph is made. */
export interface GraphCase {
  readonly tokens: number;
  /** Positions that the last token sees. */
  readonly context: number;
  /** Number format of the KV cache; F16 unless given. */
  readonly kvFormat?: KvFormat;
}

/** Bytes of a value of the residual stream. */
const STREAM_BYTES = 4;

/**
 * The operators of a model for `tokens` tokens of which the last is at position `context` − 1: the list that the
 * forward pass executes, made by the same functions, with the sizes that the cost model counts. Weights aren't read.
 * @throws InputError as modelFromGguf, rotaryEmbedding and checkKvFormat do
 */
export function modelGraph(
  gguf: Gguf,
  bytes: ByteSource,
  { tokens, context, kvFormat = DEFAULT_KV_FORMAT }: GraphCase,
): ModelGraph {
  const model = modelFromGguf(gguf);
  checkKvFormat(model, kvFormat);
  const settings = transformerSettings(gguf, model);
  const rotations = readRotations(gguf, bytes, model, context);
  const { kernels, tensorOf } = shapesOnly(gguf);
  const file = { id: 0, path: gguf.file, size: gguf.fileBytes };
  const weights = loadWeights({ gguf, bytes, file, kernels }, model);
  const activations = createActivations(kernels, model, rotations, tokens)(tokens);
  const logits = kernels.vector(model.vocabularySize);
  const layerSettings = { shape: model, normEpsilon: settings.normEpsilon, rotations };
  const position = context - tokens;
  const cache = contextOf(kernels, model, { type: kvFormat, capacity: context });
  const segments = passSegments(layerSettings, activations, [{ cache, position, tokens }]);
  const parts = forward({
    ...{ layerSettings, weights, activations, logits, tokens: new Array<number>(tokens).fill(0) },
    wanted: [{ first: tokens - 1, count: 1 }],
    hidden: [],
    layerBatches: (layer, index) => layerBatches(layerSettings, layer, index, { activations, segments }),
  });
  const node = nodeMaker({ tensorOf, position, tokens, logits });
  const crossing = { shape: [tokens, model.hiddenSize], bytes: tokens * model.hiddenSize * STREAM_BYTES };
  const units = parts.map(({ name, operations }): GraphUnit => {
    const nodes = operations.map(node);
    const sum = (value: (one: GraphNode) => number): number => nodes.reduce((total, one) => total + value(one), 0);
    return {
      name,
      nodes,
      flops: sum(({ flops }) => flops),
      weightBytes: sum(({ weightBytes }) => weightBytes),
      cacheBytes: sum(({ cacheBytes }) => cacheBytes),
      crossing: name === 'output' ? undefined : crossing,
    };
  });
  return { model, tokens, context, units };
}

/** Kernels that know shapes alone, and the tensor of each matrix. */
export function shapesOnly(gguf: Gguf) {
  const offsets: number[] = [];
  let vectors = 0;
  let caches = 0;
  const kernels: Pick<Kernels, 'matrix' | 'vector' | 'cache' | 'run' | 'write'> = {
    cache: (shape) => ({ ...shape, id: caches++ }),
    run() {},
    write() {},
    matrix: ({ offset = 0, type, rows, columns }) => ({ id: offsets.push(offset) - 1, type, rows, columns }),
    vector: (contents) =>
      vectorOver(vectors++, typeof contents === 'number' ? new Float32Array(contents) : Float32Array.from(contents)),
  };
  const tensorOf = (matrix: number): string => {
    const at = offsets[matrix] as number;
    return gguf.tensors.find(({ offset, bytes }) => offset <= at && at < offset + bytes)?.name ?? '';
  };
  return { kernels, tensorOf };
}

/** Makes nodes in the order of execution, and remembers which of them wrote what. */
function nodeMaker(facts: NodeFacts) {
  const writers = new Map<string, number>();
  let count = 0;
  return (operation: Operation): GraphNode => {
    const index = count++;
    const { reads, writes } = operands(operation);
    const after = [...new Set(reads.flatMap((key) => writers.get(key) ?? []))];
    for (const key of writes) writers.set(key, index);
    return { index, kind: operation.kind, after, ...costsOf(operation, facts) };
  };
}

const vectorKey = ({ id, offset }: Vector): string => `vector ${id} ${offset}`;
const cacheKey = ({ id }: { readonly id: number }): string => `cache ${id}`;

/** Names of the vectors that an operation reads and writes in addition to weights. */
function operands(operation: Operation): { readonly reads: readonly string[]; readonly writes: readonly string[] } {
  const keys = (...vectors: readonly Vector[]): string[] => vectors.map(vectorKey);
  switch (operation.kind) {
    case 'embed':
      return { reads: [], writes: keys(operation.y) };
    case 'multiply': {
      const { x, y, accumulate = false } = operation;
      return { reads: keys(x, ...(accumulate ? [y] : [])), writes: keys(y) };
    }
    case 'rope':
      return { reads: keys(operation.x), writes: keys(operation.x) };
    case 'store':
      return { reads: keys(operation.keys, operation.values), writes: [cacheKey(operation.cache)] };
    case 'attention':
      return { reads: [...keys(operation.queries), cacheKey(operation.cache)], writes: keys(operation.y) };
    case 'attend-pages': {
      const { pages, queries, y, largest, totals } = operation;
      return {
        reads: [...keys(queries), ...pages.map(({ cache }) => cacheKey(cache))],
        writes: keys(y, largest, totals),
      };
    }
    case 'route':
      return { reads: keys(operation.x), writes: keys(operation.y) };
    case 'multiply-experts':
      return { reads: keys(operation.x, operation.routes), writes: keys(operation.y) };
    case 'combine-experts': {
      const { x, routes, y, accumulate = false } = operation;
      return { reads: keys(x, routes, ...(accumulate ? [y] : [])), writes: keys(y) };
    }
    case 'gate-rows':
      return { reads: keys(operation.gate, operation.y), writes: keys(operation.y) };
    case 'scale-experts':
      return { reads: keys(operation.routes, operation.y), writes: keys(operation.y) };
    case 'copy-columns':
      return { reads: keys(operation.x.values), writes: keys(operation.y.values) };
    case 'convolve': {
      const { x, state, y } = operation;
      return { reads: keys(x, state), writes: keys(state, y) };
    }
    case 'delta-rule': {
      const { x, strength, decay, state, y } = operation;
      return { reads: keys(x, strength, decay, state), writes: keys(state, y) };
    }
    case 'selective-scan': {
      const { x, step, state, y } = operation;
      return { reads: keys(x, step, state), writes: keys(state, y) };
    }
    case 'divide-rows':
      return { reads: keys(operation.divisors, operation.y), writes: keys(operation.y) };
    case 'gate':
      return { reads: keys(operation.gate, operation.up), writes: keys(operation.y) };
    case 'add':
      return { reads: keys(operation.x, operation.y), writes: keys(operation.y) };
    case 'scale':
    case 'soft-cap':
      return { reads: keys(operation.y), writes: keys(operation.y) };
    case 'rms-norm':
    case 'softmax':
    case 'top-k':
      return { reads: keys(operation.x), writes: keys(operation.y) };
  }
}

type Costs = Pick<GraphNode, 'weights' | 'input' | 'output' | 'flops' | 'weightBytes' | 'cacheBytes'>;

/** Facts from which the sizes of nodes follow. */
interface NodeFacts {
  /** The name of a matrix's tensor. */
  readonly tensorOf: (matrix: number) => string;
  /** Position of the first token in its context. */
  readonly position: number;
  readonly tokens: number;
  /** Logits of the last token. */
  readonly logits: Vector;
}

function costsOf(operation: Operation, { tensorOf, position, tokens, logits }: NodeFacts): Costs {
  const none = { weights: undefined, flops: 0, weightBytes: 0, cacheBytes: 0 };
  const elementwise = (x: Vector, width: number): Costs => {
    const shape = [x.values.length / width, width];
    return { ...none, input: shape, output: shape };
  };
  const stateCosts = ({ x, y, state }: DeltaRuleOperation | SelectiveScanOperation, perValue: number): Costs => ({
    ...none,
    input: [tokens, x.values.length / tokens],
    output: [tokens, y.values.length / tokens],
    flops: perValue * tokens * state.values.length,
    cacheBytes: 2 * state.values.byteLength,
  });
  switch (operation.kind) {
    case 'embed': {
      const { table } = operation;
      const weights = { tensor: tensorOf(table.id), format: table.type };
      const weightBytes = tokens * quantizedBytes(table.columns, table.type);
      return { ...none, weights, weightBytes, input: [tokens], output: [tokens, table.columns] };
    }
    case 'multiply': {
      const { matrix, x } = operation;
      const { rows, columns, type } = matrix;
      const rowsOfX = x.values.length / columns;
      return {
        ...none,
        weights: { tensor: tensorOf(matrix.id), format: type },
        input: [rowsOfX, columns],
        output: [rowsOfX, rows],
        flops: 2 * rows * columns * rowsOfX,
        weightBytes: rows * quantizedBytes(columns, type),
      };
    }
    case 'multiply-experts': {
      const { matrix, rows, used, experts, x } = operation;
      const { columns, type } = matrix;
      const inputs = x.values.length / (tokens * columns);
      return {
        ...none,
        weights: { tensor: tensorOf(matrix.id), format: type },
        input: [tokens, ...(inputs === 1 ? [] : [inputs]), columns],
        output: [tokens, used, rows],
        flops: 2 * rows * columns * used * tokens,
        weightBytes: distinctExperts({ experts, used }, tokens) * rows * quantizedBytes(columns, type),
      };
    }
    case 'route': {
      const { experts, used } = operation.router;
      return { ...none, input: [tokens, experts], output: [tokens, used] };
    }
    case 'combine-experts': {
      const width = operation.y.values.length / tokens;
      return { ...none, input: [tokens, operation.used, width], output: [tokens, width] };
    }
    case 'gate-rows':
    case 'scale-experts':
      return elementwise(operation.y, operation.y.values.length / tokens);
    case 'rope':
      return elementwise(operation.x, operation.heads * operation.headSize);
    case 'store': {
      const { kvHeads, headSize } = operation.cache;
      const costs = elementwise(operation.keys, kvHeads * headSize);
      return { ...costs, output: [2, ...costs.output] };
    }
    case 'attention': {
      const { cache, heads, window } = operation;
      const { headSize } = cache;
      const costs = elementwise(operation.queries, heads * headSize);
      let seen = 0;
      for (let own = position; own < position + tokens; own++) seen += own + 1 - firstSeen(own, window);
      const cacheBytes = kvBytesPerToken(cache, cache.type) * (position + tokens - firstSeen(position, window));
      return { ...costs, flops: 4 * heads * headSize * seen, cacheBytes };
    }
    case 'attend-pages':
      return elementwise(operation.queries, operation.heads * (operation.pages[0]?.cache.headSize ?? 0));
    case 'divide-rows':
      return elementwise(operation.y, operation.y.values.length / operation.divisors.values.length);
    case 'gate':
    case 'add':
    case 'scale':
    case 'soft-cap':
      return elementwise(operation.y, operation.y.values.length / (operation.y === logits ? 1 : tokens));
    case 'rms-norm':
      return elementwise(operation.x, operation.width ?? operation.weight.values.length);
    case 'copy-columns': {
      const { x, y } = operation;
      const shape = ({ values, width }: typeof x): number[] => [values.values.length / width, width];
      return { ...none, input: shape(x), output: shape(y) };
    }
    case 'convolve': {
      const costs = elementwise(operation.x, operation.x.values.length / tokens);
      const flops = 2 * operation.width * operation.x.values.length;
      return { ...costs, flops, cacheBytes: 2 * operation.state.values.byteLength };
    }
    // A state is read and written once for a token: with the key, for its change, and with the query.
    case 'delta-rule':
      return stateCosts(operation, FLOPS_PER_STATE_VALUE['delta-net']);
    case 'selective-scan':
      return stateCosts(operation, FLOPS_PER_STATE_VALUE.mamba);
    case 'softmax':
      return elementwise(operation.x, operation.width);
    case 'top-k': {
      const costs = elementwise(operation.x, operation.width);
      const rows = costs.input[0] as number;
      return { ...costs, output: [rows, operation.y.values.length / rows] };
    }
  }
}
