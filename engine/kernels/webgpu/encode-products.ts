import type { Quantization } from '../../model/quantization.ts';
import type { Matrix } from '../matrix.ts';
import type { MultiplyOperation } from '../operation.ts';
import { encodeRounding, type Rounded, type RoundedDispatches, roundedBy, stillRounded } from './encode-rounding.ts';
import { type EncodingContext, inTwo, isSame, kernelOf } from './encoding-context.ts';
import type { Dispatch, Kernel } from './program.ts';
import { shaderFormat } from './shaders/formats.ts';
import { MOST_VECTORS, multiplyTiles, multiplyVectors, rowsOfWorkgroup, TILE } from './shaders/multiply.ts';
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
import { multiplyUnits, UNIT_ROWS, unitParams } from './shaders/multiply-units.ts';
import { ROUNDED_GROUP, ROUNDED_WORDS } from './shaders/rounding.ts';
import type { UnitShader } from './shaders/unit-formats.ts';
import type { MatrixPart, UploadedMatrix } from './weights-buffers.ts';

/** Whether a product reads weights by units: a few tokens, rows and places in multiples of a vector. */
export function usesUnits(context: EncodingContext, { matrix, x, y, bias, multiplied }: MultiplyOperation): boolean {
  const { unit } = shaderFormat(matrix.type);
  const { rows, columns } = matrix;
  if (!context.units || unit === undefined || (unit.packed && !context.packedDot)) return false;
  if (multiplied === 'together' || (multiplied === undefined && x.values.length / columns > MOST_VECTORS)) return false;
  const places = [context.place(y), ...(bias === undefined ? [] : [context.place(bias)]), context.place(x)];
  return rows % UNIT_ROWS === 0 && columns % unit.values === 0 && places.every((place) => place % 4 === 0);
}

/** Whether another product can be computed in the same dispatch. */
export function sharesInput(context: EncodingContext, first: MultiplyOperation, other: MultiplyOperation): boolean {
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
export function encodeUnits(
  context: EncodingContext,
  operations: readonly MultiplyOperation[],
  before: Rounded | undefined,
): RoundedDispatches {
  const { x, matrix } = operations[0] as MultiplyOperation;
  const { columns } = matrix;
  const tokens = x.values.length / columns;
  const isPacked = shaderFormat(matrix.type).unit?.packed === true;
  const { dispatches: rounding, rounded } = isPacked
    ? roundedBy(context, x, before)
    : { dispatches: [], rounded: undefined };
  const tokenWords = rounded === undefined ? columns : (columns / ROUNDED_GROUP) * ROUNDED_WORDS;
  const dispatches = [...rounding];
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
  const written = operations.map(({ y }) => y);
  return { dispatches, rounded: rounded ?? stillRounded(before, written) };
}

/** A product by itself, computed as is best for this number of tokens. */
export function encodeMultiply(context: EncodingContext, operation: MultiplyOperation): Dispatch[] {
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

/** The product for some of the tokens. */
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
        rounding?.rounded.place ?? context.place(x),
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
export function isPackable(type: Quantization): boolean {
  return type !== 'F32' && type !== 'F16' && type !== 'BF16';
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
