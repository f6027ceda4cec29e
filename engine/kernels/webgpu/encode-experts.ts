import type { CombineExpertsOperation, MultiplyExpertsOperation, RouteOperation } from '../expert-operations.ts';
import { isPackable } from './encode-products.ts';
import { encodeRounding, type Rounded, type RoundedDispatches, roundedBy, stillRounded } from './encode-rounding.ts';
import { type EncodingContext, elements, inTwo, kernelOf } from './encoding-context.ts';
import type { Dispatch, Kernel } from './program.ts';
import {
  CHOICE_PRODUCT,
  expertUnitParams,
  mostTiles,
  multiplyExpertUnits,
  SORT_CHOICES,
  SORTED_PRODUCT,
  TILE_NUMBERS,
} from './shaders/expert-products.ts';
import { shaderFormat } from './shaders/formats.ts';
import { MOST_VECTORS, multiplyTiles, multiplyVectors, rowsOfWorkgroup, TILE } from './shaders/multiply.ts';
import { multiplyPackedTiles } from './shaders/multiply-packed.ts';
import { UNIT_ROWS, unitParams } from './shaders/multiply-units.ts';
import { MOST_EXPERTS, route } from './shaders/route.ts';
import { COMBINE_EXPERTS } from './shaders/rows.ts';
import type { UnitShader } from './shaders/unit-formats.ts';
import type { MatrixPart } from './weights-buffers.ts';

/** The choice of experts: a workgroup for each token. */
export function encodeRoute({ place, lanes, lanesName }: EncodingContext, operation: RouteOperation): Dispatch {
  const { x, bias, scales, y, router } = operation;
  const { experts, used, scores, normalised, factor = 1, groups } = router;
  const numbers = [
    ...[place(x), bias === undefined ? 0 : place(bias), bias === undefined ? 0 : 1, place(y), experts, used],
    ...[normalised ? 1 : 0, groups?.count ?? 0, groups?.used ?? 0],
    ...[scales === undefined ? 0 : place(scales), scales === undefined ? 0 : 1],
  ];
  const kernel = kernelOf(`route by ${scores}, ${lanesName}`, () => route(scores, lanes));
  return { kernel, numbers, floats: [factor], workgroups: [x.values.length / experts] };
}

const COMBINE: Kernel = { name: 'combine experts', code: COMBINE_EXPERTS };

/** The weighted sum of the experts' results. */
export function encodeCombine({ place }: EncodingContext, operation: CombineExpertsOperation): Dispatch {
  const { x, routes, used, y, accumulate } = operation;
  const count = y.values.length;
  const width = x.values.length / (routes.values.length / 2);
  const numbers = [place(x), place(routes), place(y), used, width, accumulate === true ? 1 : 0, count];
  return { kernel: COMBINE, numbers, workgroups: elements(count) };
}

interface ExpertShape {
  readonly choices: number;
  /** Choices that have the same activations. */
  readonly choicesOfInput: number;
  /** Rows of the matrix between the first ones of two experts. */
  readonly stride: number;
}

function shapeOf({ matrix, experts, rows, routes, x }: MultiplyExpertsOperation): ExpertShape {
  const choices = routes.values.length / 2;
  return {
    choices,
    choicesOfInput: choices / (x.values.length / matrix.columns),
    stride: experts === 1 ? 0 : (matrix.rows - rows) / (experts - 1),
  };
}

/** Whether choices are sorted by their experts, whose weights are then read once for many of them. */
function isSorted({ routes, used, experts, multiplied }: MultiplyExpertsOperation): boolean {
  const tokens = routes.values.length / (2 * used);
  const many = multiplied === 'together' || (multiplied === undefined && tokens > MOST_VECTORS);
  return many && experts <= MOST_EXPERTS;
}

/** Whether experts' rows are read by units: a few tokens, rows and places in multiples of a vector. */
export function expertsUseUnits(context: EncodingContext, operation: MultiplyExpertsOperation): boolean {
  const { matrix, rows, x, y, bias } = operation;
  const { unit } = shaderFormat(matrix.type);
  if (!context.units || unit === undefined || (unit.packed && !context.packedDot) || isSorted(operation)) return false;
  const places = [context.place(y), ...(bias === undefined ? [] : [context.place(bias)]), context.place(x)];
  const inFours = [rows, shapeOf(operation).stride, ...places];
  return matrix.columns % unit.values === 0 && inFours.every((number) => number % UNIT_ROWS === 0);
}

/** Products of each choice with its expert's rows, by units. */
export function encodeExpertUnits(
  context: EncodingContext,
  operation: MultiplyExpertsOperation,
  before: Rounded | undefined,
): RoundedDispatches {
  const { matrix, experts, rows, routes, x, y, bias } = operation;
  const unit = shaderFormat(matrix.type).unit as UnitShader;
  const { dispatches, rounded } = unit.packed ? roundedBy(context, x, before) : { dispatches: [], rounded: undefined };
  const { lanes, lanesName } = context;
  const name = `multiply units of experts in ${matrix.type}, ${lanesName}`;
  const kernel = kernelOf(name, () => multiplyExpertUnits(unit, lanes), ['read-only-storage']);
  const { rowBytes, parts } = context.matrix(matrix.id);
  const { choices, choicesOfInput, stride } = shapeOf(operation);
  const ofExperts = expertUnitParams({ stride, routes: context.place(routes), experts, choices, choicesOfInput });
  const products = parts.map(({ buffer, rowFrom, rowCount }): Dispatch => {
    const matrixParams = {
      y: context.place(y) / 4,
      ...{ rows, rowFrom, rowCount, rowVectors: rowBytes / 16 },
      bias: bias === undefined ? 0 : context.place(bias) / 4,
      hasBias: bias === undefined ? 0 : 1,
      accumulate: 0,
    };
    const input = (rounded?.place ?? context.place(x)) / 4;
    const numbers = [...unitParams(input, matrix.columns, 1, [matrixParams]), ...ofExperts];
    return { kernel, numbers, extras: [buffer], workgroups: inTwo((choices * rows) / UNIT_ROWS) };
  });
  return { dispatches: [...dispatches, ...products], rounded: rounded ?? stillRounded(before, [y]) };
}

/** Products of choices with their experts' rows: each by itself, or many of an expert at a time. */
export function encodeExperts(context: EncodingContext, operation: MultiplyExpertsOperation): Dispatch[] {
  return isSorted(operation) ? encodeSorted(context, operation) : encodeChoices(context, operation);
}

/** The parameters that all products of experts begin with. @param input where activations begin */
function expertParams(
  { place }: EncodingContext,
  operation: MultiplyExpertsOperation,
  { input, rowBytes, part }: { readonly input: number; readonly rowBytes: number; readonly part: MatrixPart },
): number[] {
  const { matrix, experts, rows, routes, y, bias } = operation;
  const { choices, choicesOfInput, stride } = shapeOf(operation);
  return [
    ...[input, place(y), matrix.columns, rows, stride, part.rowFrom, part.rowCount, rowBytes],
    ...[bias === undefined ? 0 : place(bias), bias === undefined ? 0 : 1],
    ...[place(routes), experts, choices, choicesOfInput],
  ];
}

function encodeChoices(context: EncodingContext, operation: MultiplyExpertsOperation): Dispatch[] {
  const { matrix, rows, x } = operation;
  const { lanes, lanesName } = context;
  const name = `multiply experts in ${matrix.type}, ${lanesName}`;
  const code = () => multiplyVectors(shaderFormat(matrix.type), 1, lanes, CHOICE_PRODUCT);
  const kernel = kernelOf(name, code, ['read-only-storage']);
  const { rowBytes, parts } = context.matrix(matrix.id);
  const rowGroups = Math.ceil(rows / rowsOfWorkgroup(1, lanes));
  const workgroups = inTwo(shapeOf(operation).choices * rowGroups);
  return parts.map((part) => {
    const numbers = [...expertParams(context, operation, { input: context.place(x), rowBytes, part }), rowGroups];
    return { kernel, numbers, extras: [part.buffer], workgroups };
  });
}

const SORT: Kernel = { name: 'sort choices', code: SORT_CHOICES };

function encodeSorted(context: EncodingContext, operation: MultiplyExpertsOperation): Dispatch[] {
  const { matrix, experts, rows, routes, x } = operation;
  const { choices } = shapeOf(operation);
  const tileCount = mostTiles(choices, experts);
  const sorted = context.scratch(choices + TILE_NUMBERS * tileCount);
  const tiles = sorted + choices;
  const sorting: Dispatch = {
    kernel: SORT,
    numbers: [context.place(routes), choices, experts, sorted, tiles, tileCount],
    workgroups: [1],
  };
  const packed = context.packedDot && isPackable(matrix.type);
  const rounding = packed ? encodeRounding(context, x) : undefined;
  const kernel = packed ? packedKernel(operation) : tilesKernel(operation, context);
  const input = rounding?.rounded.place ?? context.place(x);
  const { rowBytes, parts } = context.matrix(matrix.id);
  const products = parts.map((part): Dispatch => {
    const numbers = [...expertParams(context, operation, { input, rowBytes, part }), sorted, tiles];
    return { kernel, numbers, extras: [part.buffer], workgroups: [Math.ceil(rows / TILE.rows), tileCount] };
  });
  return [sorting, ...(rounding === undefined ? [] : [rounding.dispatch]), ...products];
}

function packedKernel({ matrix: { type } }: MultiplyExpertsOperation): Kernel {
  const code = () => multiplyPackedTiles(shaderFormat(type), SORTED_PRODUCT);
  return kernelOf(`multiply experts in ${type}, packed tiles`, code, ['read-only-storage']);
}

function tilesKernel({ matrix: { type } }: MultiplyExpertsOperation, { tileValues }: EncodingContext): Kernel {
  const code = () => multiplyTiles(shaderFormat(type), tileValues, SORTED_PRODUCT);
  return kernelOf(`multiply experts in ${type}, tiles of ${tileValues}`, code, ['read-only-storage']);
}
