import type { Quantization } from '../../model/quantization.ts';
import { firstSeen } from '../first-seen.ts';
import type { Matrix } from '../matrix.ts';
import {
  type AttendPagesOperation,
  type AttentionOperation,
  type CachePage,
  type EmbedOperation,
  type GateOperation,
  type MultiplyOperation,
  type Operation,
  type RmsNormOperation,
  type RopeOperation,
  TOP_K_HEAD,
  type TopKOperation,
} from '../operation.ts';
import type { Vector } from '../vector.ts';
import type { Dispatch, Kernel } from './program.ts';
import { attendChunks, mergeChunks } from './shaders/attention.ts';
import { shaderFormat } from './shaders/formats.ts';
import { kvRowLanes, kvRowWords, store } from './shaders/kv-rows.ts';
import { LANES, type LanesTogether } from './shaders/lanes.ts';
import {
  embed,
  MOST_VECTORS,
  multiplyTiles,
  multiplyVectors,
  rowsOfWorkgroup,
  TILE,
  type TileValues,
} from './shaders/multiply.ts';
import {
  ACTIVATIONS_TO_HALVES,
  HALVES_DEPTH,
  HALVES_TILES,
  HALVES_TOGETHER,
  type HalvesTile,
  multiplyHalves,
  weightsToHalves,
} from './shaders/multiply-halves.ts';
import { multiplyPackedTiles } from './shaders/multiply-packed.ts';
import { MOST_MATRICES, multiplyUnits, UNIT_ROWS, unitParams } from './shaders/multiply-units.ts';
import {
  ROUND_TO_BYTES,
  ROUNDED_GROUP,
  ROUNDED_TOGETHER,
  ROUNDED_WORDS,
  roundedGate,
  roundedRmsNorm,
} from './shaders/rounding.ts';
import { ADD, DIVIDE_ROWS, ELEMENTS, gate, ROPE, rmsNorm, SCALE, SOFT_CAP, softmax } from './shaders/rows.ts';
import { TOP_K_CHUNK, topK } from './shaders/top-k.ts';
import type { UnitShader } from './shaders/unit-formats.ts';
import type { MatrixPart, UploadedMatrix } from './weights-buffers.ts';

/** What dispatches refer to. */
export interface EncodingContext {
  /** How the device's lanes work together. */
  readonly lanes: LanesTogether;
  /** The same in the names of kernels. */
  readonly lanesName: string;
  /** Whether shaders may add products of bytes in one instruction. */
  readonly packedDot: boolean;
  /** Whether products of a few tokens read weights by units of 16 bytes, where the format has them. */
  readonly units: boolean;
  /** Whether products of many tokens may be of halves, by matrices that subgroups multiply. */
  readonly halfMatrices: boolean;
  /** Room for this many bytes of halves, which lasts until the next call for the same factor. */
  halves(factor: 'weights' | 'inputs', bytes: number): GPUBuffer;
  /** What tiles of products are kept in. */
  readonly tileValues: TileValues;
  matrix(id: number): UploadedMatrix;
  cache(id: number): GPUBuffer;
  /** Where a vector's values begin in the arena. */
  place(vector: Vector): number;
  /** Room for the arguments of embeddings: numbers of tokens. */
  tokens(tokens: readonly number[]): number;
  /** Room for this many values of partial results, which lasts until the next call. */
  scratch(values: number): number;
  /** The same for rounded activations. */
  rounded(words: number): number;
}

/** Workgroups of a dispatch in one dimension. */
const MOST_WORKGROUPS = 65_535;
/** Workgroups of attention that keep a GPU busy; contexts are divided further up to it. */
const BUSY_WORKGROUPS = 1024;
/** Positions that a workgroup of attention takes at once. */
const CHUNK_STEP = 64;
/** A window of more positions than there are. */
const NO_WINDOW = 2 ** 30;

/** Activations that lie rounded at `place` as well. */
interface Rounded {
  readonly x: Vector;
  readonly place: number;
}

/**
 * The dispatches of operations whose shapes have been checked. Each costs a GPU a few microseconds and its host more, so
 * that neighbours share one where nothing depends on their order: products of the same activations, both rotations of a
 * layer, and what is rounded for the products that follow.
 * @param add takes each dispatch before what the next operation needs is written to the device
 */
export function encodeAll(
  context: EncodingContext,
  operations: readonly Operation[],
  add: (dispatch: Dispatch) => void,
): void {
  let rounded: Rounded | undefined;
  for (let index = 0; index < operations.length; ) {
    const operation = operations[index] as Operation;
    const next = operations[index + 1];
    if (operation.kind === 'multiply') {
      if (!usesUnits(context, operation)) {
        encodeMultiply(context, operation).forEach(add);
        rounded = undefined;
        index++;
        continue;
      }
      const together = [operation];
      for (const other of operations.slice(index + 1, index + MOST_MATRICES)) {
        if (other.kind !== 'multiply' || !sharesInput(context, operation, other)) break;
        together.push(other);
      }
      const product = encodeUnits(context, together, rounded);
      product.dispatches.forEach(add);
      rounded = product.rounded;
      index += together.length;
      continue;
    }
    rounded = undefined;
    if (operation.kind === 'rope' && next?.kind === 'rope' && turnsAlike(operation, next)) {
      add(encodeRope(context, operation, next));
      index += 2;
      continue;
    }
    if (roundsNorm(context, operation) || (operation.kind === 'gate' && isRoundedNext(context, operation, next))) {
      const place = context.rounded((operation.y.values.length / ROUNDED_GROUP) * ROUNDED_WORDS);
      rounded = { x: operation.y, place };
      add(operation.kind === 'gate' ? roundGate(context, operation, place) : roundNorm(context, operation, place));
    } else encode(context, operation).forEach(add);
    index++;
  }
}

/** Dispatches that stay, or those of an operation that depends on tokens or position. */
export type PreparedPart = Dispatch | ((tokens: readonly number[], position: number) => readonly Dispatch[]);

/** The same for operations that run again with other tokens, and at another position. */
export function prepareAll(context: EncodingContext, operations: readonly Operation[]): PreparedPart[] {
  const parts: PreparedPart[] = [];
  const add = (dispatch: Dispatch): void => void parts.push(dispatch);
  let begin = 0;
  operations.forEach((operation, index) => {
    const { kind } = operation;
    if (kind !== 'embed' && kind !== 'store' && kind !== 'attention') return;
    encodeAll(context, operations.slice(begin, index), add);
    begin = index + 1;
    parts.push((tokens, position) =>
      encode(context, kind === 'embed' ? { ...operation, tokens } : { ...operation, position }),
    );
  });
  encodeAll(context, operations.slice(begin), add);
  return parts;
}

/**
 * Whether a norm is rounded as well: wherever it can be, whatever follows, since the shader that doesn't round adds squares
 * in another order, and a token's norm must not depend on what it is evaluated with.
 */
function roundsNorm({ units, packedDot }: EncodingContext, operation: Operation): operation is RmsNormOperation {
  return operation.kind === 'rms-norm' && units && packedDot && operation.weight.values.length % ROUNDED_GROUP === 0;
}

/** Whether the next operation is a product that rounds what this one computes. */
function isRoundedNext(context: EncodingContext, { y }: GateOperation, next: Operation | undefined): boolean {
  if (next?.kind !== 'multiply' || !isSame(next.x, y) || !usesUnits(context, next)) return false;
  return shaderFormat(next.matrix.type).unit?.packed === true && y.values.length % ROUNDED_GROUP === 0;
}

function isSame(one: Vector, other: Vector): boolean {
  return one.id === other.id && one.offset === other.offset && one.values.length === other.values.length;
}

function turnsAlike(one: RopeOperation, other: RopeOperation): boolean {
  return isSame(one.angles, other.angles) && one.headSize === other.headSize && one.pairs === other.pairs;
}

/** The dispatches of an operation by itself. */
function encode(context: EncodingContext, operation: Operation): Dispatch[] {
  const place = (vector: Vector): number => context.place(vector);
  switch (operation.kind) {
    case 'embed':
      return encodeEmbed(context, operation);
    case 'rms-norm': {
      const { x, y, weight, epsilon } = operation;
      const width = weight.values.length;
      const numbers = [place(x), place(y), place(weight), width];
      const kernel = kernelOf(`rms-norm, ${context.lanesName}`, () => rmsNorm(context.lanes));
      return [{ kernel, numbers, floats: [epsilon], workgroups: [x.values.length / width] }];
    }
    case 'multiply':
      return encodeMultiply(context, operation);
    case 'rope':
      return [encodeRope(context, operation)];
    case 'store': {
      const { cache, keys, values, position } = operation;
      const { kvHeads, capacity, headSize, type } = cache;
      const lanes = kvRowLanes(type, headSize);
      const count = (keys.values.length / headSize) * lanes;
      const shape = [kvHeads, capacity, headSize, kvRowWords(type, headSize)];
      const numbers = [place(keys), place(values), ...shape, lanes, position, count];
      const kernel = kernelOf(`store ${type}`, () => store(type), ['storage']);
      return [{ kernel, numbers, extras: [context.cache(cache.id)], workgroups: [Math.ceil(count / 64)] }];
    }
    case 'attention':
      return encodeAttention(context, operation);
    case 'attend-pages':
      return encodePages(context, operation);
    case 'divide-rows': {
      const { divisors, y } = operation;
      const count = y.values.length;
      const numbers = [place(divisors), place(y), count / divisors.values.length, count];
      return [{ kernel: PLAIN.divideRows, numbers, workgroups: elements(count) }];
    }
    case 'gate': {
      const { activation, up, y } = operation;
      const numbers = [place(operation.gate), place(up), place(y), y.values.length];
      const kernel = kernelOf(`gate ${activation}`, () => gate(activation));
      return [{ kernel, numbers, workgroups: elements(y.values.length) }];
    }
    case 'softmax': {
      const { x, y, width } = operation;
      const kernel = kernelOf(`softmax, ${context.lanesName}`, () => softmax(context.lanes));
      return [{ kernel, numbers: [place(x), place(y), width], workgroups: [x.values.length / width] }];
    }
    case 'add': {
      const { x, y, factor = 1 } = operation;
      const numbers = [place(x), place(y), y.values.length];
      return [{ kernel: PLAIN.add, numbers, floats: [factor], workgroups: elements(y.values.length) }];
    }
    case 'scale':
    case 'soft-cap': {
      const { y } = operation;
      const [kernel, by] =
        operation.kind === 'scale' ? [PLAIN.scale, operation.factor] : [PLAIN.softCap, operation.cap];
      const count = y.values.length;
      return [{ kernel, numbers: [place(y), count], floats: [by], workgroups: elements(count) }];
    }
    case 'top-k':
      return encodeTopK(context, operation);
  }
}

const PLAIN = {
  rope: { name: 'rope', code: ROPE },
  add: { name: 'add', code: ADD },
  scale: { name: 'scale', code: SCALE },
  softCap: { name: 'soft-cap', code: SOFT_CAP },
  divideRows: { name: 'divide-rows', code: DIVIDE_ROWS },
} satisfies Record<string, Kernel>;

const kernels = new Map<string, Kernel>();

/** The kernel of this name, whose shader is written when it is used first. */
function kernelOf(name: string, code: () => string, extras: NonNullable<Kernel['extras']> = []): Kernel {
  const found = kernels.get(name) ?? { name, code: code(), extras };
  kernels.set(name, found);
  return found;
}

function elements(count: number): [number, number] {
  return inTwo(Math.ceil(count / ELEMENTS));
}

/** Workgroups in two dimensions, of which the last row may be partly beyond the end. */
function inTwo(workgroups: number): [number, number] {
  const rows = Math.ceil(workgroups / MOST_WORKGROUPS);
  return [Math.ceil(workgroups / rows), rows];
}

function encodeEmbed(context: EncodingContext, { table, tokens, y }: EmbedOperation): Dispatch[] {
  const { rowBytes, parts } = context.matrix(table.id);
  const at = context.tokens(tokens);
  const kernel = kernelOf(`embed ${table.type}`, () => embed(shaderFormat(table.type)), ['read-only-storage']);
  return parts.map(({ buffer, rowFrom, rowCount }) => {
    const numbers = [at, context.place(y), table.columns, rowBytes, rowFrom, rowCount];
    return { kernel, numbers, extras: [buffer], workgroups: [tokens.length] };
  });
}

/** Rotations of one vector, or of two by the same angles. */
function encodeRope({ place }: EncodingContext, operation: RopeOperation, other?: RopeOperation): Dispatch {
  const { x, angles, heads, headSize, pairs } = operation;
  const dimensions = angles.values.length / (x.values.length / (heads * headSize));
  const count = ({ values }: Vector): number => ((values.length / headSize) * dimensions) / 2;
  const own = count(x);
  const all = own + (other === undefined ? 0 : count(other.x));
  const others = other === undefined ? [0, 1] : [place(other.x), other.heads];
  const numbers = [
    place(x),
    heads,
    ...others,
    own,
    place(angles),
    headSize,
    dimensions,
    pairs === 'halves' ? 1 : 0,
    all,
  ];
  return { kernel: PLAIN.rope, numbers, workgroups: elements(all) };
}

function roundNorm(context: EncodingContext, operation: RmsNormOperation, rounded: number): Dispatch {
  const { x, y, weight, epsilon } = operation;
  const width = weight.values.length;
  const { place, lanes, lanesName } = context;
  const kernel = kernelOf(`rounded rms-norm, ${lanesName}`, () => roundedRmsNorm(lanes));
  const numbers = [place(x), place(y), place(weight), width, rounded];
  return { kernel, numbers, floats: [epsilon], workgroups: [x.values.length / width] };
}

function roundGate({ place }: EncodingContext, operation: GateOperation, rounded: number): Dispatch {
  const { activation, gate, up, y } = operation;
  const groups = y.values.length / ROUNDED_GROUP;
  const numbers = [place(gate), place(up), place(y), rounded, groups];
  const kernel = kernelOf(`rounded gate ${activation}`, () => roundedGate(activation));
  return { kernel, numbers, workgroups: inTwo(Math.ceil(groups / ROUNDED_TOGETHER)) };
}

/** Whether a product reads weights by units: a few tokens, rows and places in multiples of a vector. */
function usesUnits(context: EncodingContext, { matrix, x, y, bias, multiplied }: MultiplyOperation): boolean {
  const { unit } = shaderFormat(matrix.type);
  const { rows, columns } = matrix;
  if (!context.units || unit === undefined || (unit.packed && !context.packedDot)) return false;
  if (multiplied === 'together' || (multiplied === undefined && x.values.length / columns > MOST_VECTORS)) return false;
  const places = [context.place(y), ...(bias === undefined ? [] : [context.place(bias)]), context.place(x)];
  return rows % UNIT_ROWS === 0 && columns % unit.values === 0 && places.every((place) => place % 4 === 0);
}

/** Whether another product can be computed in the same dispatch. */
function sharesInput(context: EncodingContext, first: MultiplyOperation, other: MultiplyOperation): boolean {
  const packed = ({ matrix }: MultiplyOperation) => shaderFormat(matrix.type).unit?.packed;
  const inOne = ({ matrix }: MultiplyOperation) => context.matrix(matrix.id).parts.length === 1;
  return (
    isSame(first.x, other.x) &&
    usesUnits(context, other) &&
    packed(first) === packed(other) &&
    inOne(first) &&
    inOne(other)
  );
}

/** Products of the same activations, for a few tokens at a time. */
function encodeUnits(
  context: EncodingContext,
  operations: readonly MultiplyOperation[],
  before: Rounded | undefined,
): { readonly dispatches: readonly Dispatch[]; readonly rounded: Rounded | undefined } {
  const { x, matrix } = operations[0] as MultiplyOperation;
  const { columns } = matrix;
  const tokens = x.values.length / columns;
  const isPacked = shaderFormat(matrix.type).unit?.packed === true;
  const rounding = !isPacked || (before !== undefined && isSame(before.x, x)) ? undefined : encodeRounding(context, x);
  const rounded = isPacked ? (rounding === undefined ? before : { x, place: rounding.place }) : undefined;
  const tokenWords = rounded === undefined ? columns : (columns / ROUNDED_GROUP) * ROUNDED_WORDS;
  const dispatches = rounding === undefined ? [] : [rounding.dispatch];
  for (let from = 0; from < tokens; from += MOST_VECTORS) {
    const count = Math.min(MOST_VECTORS, tokens - from);
    const input = ((rounded?.place ?? context.place(x)) + from * tokenWords) / 4;
    const together = 2 ** Math.ceil(Math.log2(count));
    const { lanes } = context;
    const types = operations.map((operation) => operation.matrix.type);
    const kernel = kernelOf(
      `multiply units of ${types.join(', ')}, ${together} tokens, ${context.lanesName}`,
      () =>
        multiplyUnits(
          types.map((type) => shaderFormat(type).unit as UnitShader),
          together,
          lanes,
        ),
      types.map(() => 'read-only-storage'),
    );
    // A matrix in several parts is alone.
    const parts = operations.map((operation) => context.matrix(operation.matrix.id));
    (parts[0] as UploadedMatrix).parts.forEach((_, part) => {
      const matrices = operations.map(({ matrix: { id, rows }, y, bias, accumulate }) => {
        const { rowBytes, parts } = context.matrix(id);
        const { rowFrom, rowCount } = parts[part] as MatrixPart;
        return {
          y: (context.place(y) + from * rows) / 4,
          ...{ rows, rowFrom, rowCount, rowVectors: rowBytes / 16 },
          bias: bias === undefined ? 0 : context.place(bias) / 4,
          hasBias: bias === undefined ? 0 : 1,
          accumulate: accumulate === true ? 1 : 0,
        };
      });
      dispatches.push({
        kernel,
        numbers: unitParams(input, columns, count, matrices),
        extras: parts.map((uploaded) => (uploaded.parts[part] as MatrixPart).buffer),
        workgroups: inTwo(matrices.reduce((sum, { rowCount }) => sum + Math.ceil(rowCount / UNIT_ROWS), 0)),
      });
    });
  }
  return { dispatches, rounded };
}

function encodeMultiply(context: EncodingContext, operation: MultiplyOperation): Dispatch[] {
  const { matrix, x, multiplied } = operation;
  const tokens = x.values.length / matrix.columns;
  if (multiplied === 'together' || (multiplied === undefined && tokens > MOST_VECTORS))
    return usesHalves(context, matrix) ? encodeHalves(context, operation) : encodeProduct(context, operation, 'tiles');
  const groups = Array.from({ length: Math.ceil(tokens / MOST_VECTORS) }, (_, group) => group * MOST_VECTORS);
  return groups.flatMap((from) => encodeProduct(context, tokensOf(operation, from, from + MOST_VECTORS), 'vectors'));
}

/** Most bytes of a matrix's halves; vocabularies, whose logits few tokens want, have more. */
const MOST_HALVES = 2 ** 29;

function usesHalves({ halfMatrices }: EncodingContext, { rows, columns, type }: Matrix): boolean {
  return halfMatrices && type !== 'F32' && columns % HALVES_DEPTH === 0 && 2 * rows * columns <= MOST_HALVES;
}

/** Tiles that keep a GPU busy. */
const BUSY_TILES = 100;

/** A product of halves: weights and activations are written as such first, in memory that the next product takes. */
function encodeHalves(context: EncodingContext, { matrix, x, y, bias, accumulate }: MultiplyOperation): Dispatch[] {
  const { id, type, rows, columns } = matrix;
  const { rowBytes, parts } = context.matrix(id);
  const tokens = x.values.length / columns;
  const fours = (count: number): [number, number] => inTwo(Math.ceil((4 * count) / HALVES_TOGETHER));
  const inputs = context.halves('inputs', 2 * tokens * columns);
  const count = (tokens * columns) / 4;
  const rounding: Dispatch = {
    kernel: ACTIVATIONS,
    numbers: [context.place(x), count],
    extras: [inputs],
    workgroups: fours(count),
  };
  const products = parts.flatMap(({ buffer, rowFrom, rowCount }): Dispatch[] => {
    const weights = type === 'F16' ? buffer : context.halves('weights', 2 * rowCount * columns);
    const ofWeights = (rowCount * columns) / 4;
    const expanding: Dispatch = {
      kernel: kernelOf(`${type} to halves`, () => weightsToHalves(shaderFormat(type)), [
        'read-only-storage',
        'storage',
      ]),
      numbers: [columns, rowBytes, ofWeights],
      extras: [buffer, weights],
      workgroups: fours(ofWeights),
    };
    const tilesOf = (tile: HalvesTile): [number, number] => [
      Math.ceil(rowCount / tile.rows),
      Math.ceil(tokens / tile.tokens),
    ];
    const [across, down] = tilesOf(HALVES_TILES.large);
    const size = across * down >= BUSY_TILES ? 'large' : 'small';
    const tile = HALVES_TILES[size];
    const product: Dispatch = {
      kernel: kernelOf(`multiply halves, ${size}`, () => multiplyHalves(tile), [
        'read-only-storage',
        'read-only-storage',
      ]),
      numbers: [
        ...[0, context.place(y), columns, rows, rowFrom, rowCount, rowBytes, tokens],
        ...[bias === undefined ? 0 : context.place(bias), bias === undefined ? 0 : 1, accumulate === true ? 1 : 0],
      ],
      extras: [weights, inputs],
      workgroups: tilesOf(tile),
    };
    return weights === buffer ? [product] : [expanding, product];
  });
  return [rounding, ...products];
}

const ACTIVATIONS: Kernel = { name: 'activations to halves', code: ACTIVATIONS_TO_HALVES, extras: ['storage'] };

/** The product of some of the tokens. */
function tokensOf(operation: MultiplyOperation, from: number, to: number): MultiplyOperation {
  const { matrix, x, y } = operation;
  const { rows, columns } = matrix;
  const tokens = x.values.length / columns;
  if (from === 0 && to >= tokens) return operation;
  const end = Math.min(to, tokens);
  return { ...operation, x: x.slice(from * columns, end * columns), y: y.slice(from * rows, end * rows) };
}

/** @param way `vectors` for up to MOST_VECTORS tokens. Either gives a token the same result, whatever the others are */
function encodeProduct(context: EncodingContext, operation: MultiplyOperation, way: 'vectors' | 'tiles'): Dispatch[] {
  const { matrix, x, y, bias, accumulate } = operation;
  const { rowBytes, parts } = context.matrix(matrix.id);
  const tokens = x.values.length / matrix.columns;
  const rounded = context.packedDot && isPackable(matrix.type) && way === 'tiles';
  const rounding = rounded ? encodeRounding(context, x) : undefined;
  const products = parts.map(({ buffer, rowFrom, rowCount }): Dispatch => {
    const numbers = [
      ...[
        rounding?.place ?? context.place(x),
        context.place(y),
        matrix.columns,
        matrix.rows,
        rowFrom,
        rowCount,
        rowBytes,
        tokens,
      ],
      ...[bias === undefined ? 0 : context.place(bias), bias === undefined ? 0 : 1, accumulate === true ? 1 : 0],
    ];
    const kernel = way === 'vectors' ? vectorsKernel : rounded ? packedKernel : tilesKernel;
    return { ...kernel(matrix, tokens, rowCount, context), numbers, extras: [buffer] };
  });
  return rounding === undefined ? products : [rounding.dispatch, ...products];
}

/** Formats of whole numbers times a step. */
function isPackable(type: Quantization): boolean {
  return type !== 'F32' && type !== 'F16' && type !== 'BF16';
}

const ROUND: Kernel = { name: 'round to bytes', code: ROUND_TO_BYTES };

/** Rounds activations to 8 bits. */
function encodeRounding(context: EncodingContext, x: Vector): { readonly dispatch: Dispatch; readonly place: number } {
  const groups = x.values.length / ROUNDED_GROUP;
  const place = context.rounded(groups * ROUNDED_WORDS);
  const workgroups = inTwo(Math.ceil(groups / ROUNDED_TOGETHER));
  return { dispatch: { kernel: ROUND, numbers: [context.place(x), place, groups], workgroups }, place };
}

type ChosenKernel = Pick<Dispatch, 'kernel' | 'workgroups'>;

/** The kernel for products of bytes, and its workgroups. */
function packedKernel({ type }: Matrix, tokens: number, rows: number): ChosenKernel {
  const code = () => multiplyPackedTiles(shaderFormat(type));
  return {
    kernel: kernelOf(`multiply ${type}, packed tiles`, code, ['read-only-storage']),
    workgroups: tiles(tokens, rows),
  };
}

/** The kernel for many tokens, and its workgroups. */
function tilesKernel({ type }: Matrix, tokens: number, rows: number, { tileValues }: EncodingContext): ChosenKernel {
  const code = () => multiplyTiles(shaderFormat(type), tileValues);
  const kernel = kernelOf(`multiply ${type}, tiles of ${tileValues}`, code, ['read-only-storage']);
  return { kernel, workgroups: tiles(tokens, rows) };
}

function tiles(tokens: number, rows: number): [number, number] {
  return [Math.ceil(rows / TILE.rows), Math.ceil(tokens / TILE.tokens)];
}

/** The kernel for a few tokens, and its workgroups. */
function vectorsKernel({ type }: Matrix, tokens: number, rows: number, context: EncodingContext): ChosenKernel {
  const { lanes } = context;
  const together = 2 ** Math.ceil(Math.log2(tokens));
  const code = () => multiplyVectors(shaderFormat(type), together, lanes);
  const kernel = kernelOf(`multiply ${type}, ${together} tokens, ${context.lanesName}`, code, ['read-only-storage']);
  return { kernel, workgroups: inTwo(Math.ceil(rows / rowsOfWorkgroup(together, lanes))) };
}

interface ChunkedAttention {
  readonly dispatch: Dispatch;
  readonly partial: number;
  readonly chunks: number;
  readonly rows: number;
}

/** Attention to those of `used` positions of a cache that any of the tokens sees, divided so that a GPU is busy. */
function encodeChunks(
  context: EncodingContext,
  { queries, heads, scale, window }: Pick<AttentionOperation, 'queries' | 'heads' | 'scale' | 'window'>,
  {
    cache,
    position,
    used,
  }: { readonly cache: AttentionOperation['cache']; readonly position: number; readonly used: number },
): ChunkedAttention {
  const { kvHeads, capacity, headSize, type } = cache;
  const tokens = queries.values.length / (heads * headSize);
  const rows = tokens * heads;
  const from = Math.floor(Math.min(used, firstSeen(position, window)) / CHUNK_STEP) * CHUNK_STEP;
  const steps = Math.max(1, Math.ceil((used - from) / CHUNK_STEP));
  const chunkLength = CHUNK_STEP * Math.ceil(steps / Math.max(1, Math.min(steps, Math.floor(BUSY_WORKGROUPS / rows))));
  const chunks = Math.max(1, Math.ceil((used - from) / chunkLength));
  const partial = context.scratch(rows * chunks * (headSize + 2));
  const { lanes } = context;
  const name = `attend ${type}, ${headSize}, ${context.lanesName}`;
  const kernel = kernelOf(name, () => attendChunks(type, headSize, lanes), ['read-only-storage']);
  const together = typeof lanes === 'object' ? LANES / lanes.subgroupSize : 1;
  const numbers = [
    ...[context.place(queries), partial, heads, kvHeads, capacity, headSize, kvRowWords(type, headSize)],
    ...[position, Math.min(window ?? NO_WINDOW, NO_WINDOW), from, used, chunks, chunkLength],
  ];
  const dispatch: Dispatch = {
    kernel,
    numbers,
    floats: [scale],
    extras: [context.cache(cache.id)],
    workgroups: [heads, tokens, Math.ceil(chunks / together)],
  };
  return { dispatch, partial, chunks, rows };
}

const MERGE_RESULT: Kernel = { name: 'merge chunks', code: mergeChunks('result') };
const MERGE_PAGES: Kernel = { name: 'merge pages', code: mergeChunks('pages') };

function encodeAttention(context: EncodingContext, operation: AttentionOperation): Dispatch[] {
  const { cache, queries, y, heads, position } = operation;
  const tokens = queries.values.length / (heads * cache.headSize);
  const chunked = encodeChunks(context, operation, { cache, position, used: position + tokens });
  const { dispatch, partial, chunks, rows } = chunked;
  const numbers = [partial, context.place(y), 0, 0, cache.headSize, chunks, 1];
  return [dispatch, { kernel: MERGE_RESULT, numbers, workgroups: [rows] }];
}

function encodePages(context: EncodingContext, operation: AttendPagesOperation): Dispatch[] {
  const { queries, heads, pages, y, largest, totals, position, window, begins } = operation;
  const [
    {
      cache: { headSize },
    },
  ] = pages as readonly [CachePage];
  const end = position + queries.values.length / (heads * headSize);
  const seen = pages.filter(({ first, count }) => first < end && first + count > firstSeen(position, window));
  // What is seen of no page is nothing, which one that is not seen gives.
  const merged = begins && seen.length === 0 ? pages.slice(0, 1) : seen;
  return merged.flatMap(({ cache, first, count }, index) => {
    const chunked = encodeChunks(context, operation, { cache, position: position - first, used: count });
    const { dispatch, partial, chunks, rows } = chunked;
    const places = [context.place(y), context.place(largest), context.place(totals)];
    const numbers = [partial, ...places, cache.headSize, chunks, begins && index === 0 ? 1 : 0];
    return [dispatch, { kernel: MERGE_PAGES, numbers, workgroups: [rows] }];
  });
}

/** The largest of each chunk of a row, and then of those. */
function encodeTopK(context: EncodingContext, { x, y, width }: TopKOperation): Dispatch[] {
  const { lanes, place } = context;
  const rows = x.values.length / width;
  const pairs = y.values.length / rows;
  const k = (pairs - TOP_K_HEAD) / 2;
  const chunks = Math.ceil(width / TOP_K_CHUNK);
  const kernel = (from: 'values' | 'pairs'): Kernel =>
    kernelOf(`top-k of ${from}, ${context.lanesName}`, () => topK(from, lanes));
  const partial = chunks === 1 ? place(y) : context.scratch(rows * chunks * pairs);
  const ofChunks: Dispatch = {
    kernel: kernel('values'),
    numbers: [place(x), partial, width, k, chunks],
    workgroups: [chunks, rows],
  };
  if (chunks === 1) return [ofChunks];
  return [ofChunks, { kernel: kernel('pairs'), numbers: [partial, place(y), width, k, chunks], workgroups: [1, rows] }];
}
