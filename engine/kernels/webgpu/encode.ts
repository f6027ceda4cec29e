import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import { productThenScale } from '../expert-operations.ts';
import {
  type EmbedOperation,
  type GateOperation,
  type MultiplyOperation,
  type Operation,
  type RopeOperation,
  TOP_K_HEAD,
  type TopKOperation,
} from '../operation.ts';
import type { Vector } from '../vector.ts';
import { encodeAttention, encodePages } from './encode-attention.ts';
import { copiedTogether, encodeCopies } from './encode-copies.ts';
import { encodeCombine, encodeExperts, encodeExpertUnits, encodeRoute, expertsUseUnits } from './encode-experts.ts';
import { encodeMultiply, encodeUnits, sharesInput, usesUnits } from './encode-products.ts';
import { encodeConvolve, encodeDeltaRule, encodeSelectiveScan } from './encode-recurrence.ts';
import { encodeNorm, encodeRounded, type Rounded, roundsNorm, stillRounded } from './encode-rounding.ts';
import { type EncodingContext, elements, isSame, kernelOf } from './encoding-context.ts';
import type { Dispatch, Kernel } from './program.ts';
import { shaderFormat } from './shaders/formats.ts';
import { kvRowLanes, kvRowWords, store } from './shaders/kv-rows.ts';
import { embed } from './shaders/multiply.ts';
import { MOST_MATRICES } from './shaders/multiply-units.ts';
import { ROUNDED_GROUP } from './shaders/rounding.ts';
import {
  ADD,
  DIVIDE_ROWS,
  GATE_ROWS,
  gate,
  MOST_COPIES,
  ROPE,
  SCALE,
  SCALE_EXPERTS,
  SOFT_CAP,
  softmax,
} from './shaders/rows.ts';
import { TOP_K_CHUNK, topK } from './shaders/top-k.ts';

/** Operations as they are dispatched: a product of experts that has scales is two. */
function inSteps(operations: readonly Operation[]): readonly Operation[] {
  return operations.flatMap((one): readonly Operation[] =>
    one.kind === 'multiply-experts' ? productThenScale(one) : [one],
  );
}

/**
 * The dispatches of operations whose shapes have been checked. Each costs a GPU a few microseconds and its host more, so
 * that neighbours share one where nothing depends on their order: products of the same activations, both rotations of a
 * layer, copies of columns, and what is rounded for the products that follow.
 * @param add takes each dispatch before what the next operation needs is written to the device
 */
export function encodeAll(
  context: EncodingContext,
  given: readonly Operation[],
  add: (dispatch: Dispatch) => void,
): void {
  const operations = inSteps(given);
  let rounded: Rounded | undefined;
  for (let index = 0; index < operations.length; ) {
    const encoded = encodeNext(context, operations.slice(index, index + MOST_TOGETHER), rounded);
    encoded.dispatches.forEach(add);
    rounded = encoded.rounded;
    index += encoded.count;
  }
}

/** Most operations that share dispatches. */
const MOST_TOGETHER = Math.max(MOST_MATRICES, MOST_COPIES);

interface Encoded {
  readonly dispatches: readonly Dispatch[];
  /** The activations that lie rounded after them; others may have been written to. */
  readonly rounded: Rounded | undefined;
  /** The number of operations that they perform. */
  readonly count: number;
}

/** The dispatches of the first of some operations, and of those that share them. */
function encodeNext(context: EncodingContext, operations: readonly Operation[], rounded: Rounded | undefined): Encoded {
  const [operation, next] = operations as readonly [Operation, Operation | undefined];
  if (operation.kind === 'multiply' && usesUnits(context, operation)) {
    const together = sharingInput(context, operation, operations.slice(1));
    return { ...encodeUnits(context, together, rounded), count: together.length };
  }
  if (operation.kind === 'multiply-experts' && expertsUseUnits(context, operation))
    return { ...encodeExpertUnits(context, operation, rounded), count: 1 };
  if (operation.kind === 'rope' && next?.kind === 'rope' && turnsAlike(operation, next))
    return { dispatches: [encodeRope(context, operation, next)], rounded: undefined, count: 2 };
  if (operation.kind === 'copy-columns') {
    const together = copiedTogether(operation, operations.slice(1));
    return { dispatches: [encodeCopies(context, together)], rounded: undefined, count: together.length };
  }
  if (roundsNorm(context, operation) || (operation.kind === 'gate' && isRoundedNext(context, operation, next)))
    return { ...encodeRounded(context, operation), count: 1 };
  const dispatches = encode(context, operation);
  // In a mixture of experts, a router comes between the norm and the products that it is rounded for.
  return {
    dispatches,
    rounded: operation.kind === 'route' ? stillRounded(rounded, [operation.y]) : undefined,
    count: 1,
  };
}

/** Products that one dispatch computes with the first. */
function sharingInput(
  context: EncodingContext,
  first: MultiplyOperation,
  following: readonly Operation[],
): MultiplyOperation[] {
  const together = [first];
  for (const other of following.slice(0, MOST_MATRICES - 1)) {
    if (other.kind !== 'multiply' || !sharesInput(context, first, other)) break;
    together.push(other);
  }
  return together;
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

/** Whether the next operation is a product that rounds what this one computes. */
function isRoundedNext(context: EncodingContext, { y }: GateOperation, next: Operation | undefined): boolean {
  if (next?.kind !== 'multiply' && next?.kind !== 'multiply-experts') return false;
  const uses = next.kind === 'multiply' ? usesUnits(context, next) : expertsUseUnits(context, next);
  if (!uses || !isSame(next.x, y)) return false;
  return shaderFormat(next.matrix.type).unit?.packed === true && y.values.length % ROUNDED_GROUP === 0;
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
    case 'rms-norm':
      return [encodeNorm(context, operation)];
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
    case 'route':
      return [encodeRoute(context, operation)];
    case 'multiply-experts':
      return encodeExperts(context, operation);
    case 'scale-experts': {
      const { routes, scales, bias, y } = operation;
      const count = y.values.length;
      const rows = (count / routes.values.length) * ROUTE_NUMBERS;
      const added = bias === undefined ? [0, 0] : [place(bias), 1];
      const numbers = [place(routes), place(scales), ...added, place(y), rows, count];
      return [{ kernel: PLAIN.scaleExperts, numbers, workgroups: elements(count) }];
    }
    case 'combine-experts':
      return [encodeCombine(context, operation)];
    case 'gate-rows': {
      const { y } = operation;
      const count = y.values.length;
      const numbers = [place(operation.gate), place(y), count / operation.gate.values.length, count];
      return [{ kernel: PLAIN.gateRows, numbers, workgroups: elements(count) }];
    }
    case 'copy-columns':
      return [encodeCopies(context, [operation])];
    case 'convolve':
      return [encodeConvolve(context, operation)];
    case 'delta-rule':
      return [encodeDeltaRule(context, operation)];
    case 'selective-scan':
      return [encodeSelectiveScan(context, operation)];
  }
}

const PLAIN = {
  rope: { name: 'rope', code: ROPE },
  add: { name: 'add', code: ADD },
  scale: { name: 'scale', code: SCALE },
  softCap: { name: 'soft-cap', code: SOFT_CAP },
  gateRows: { name: 'gate-rows', code: GATE_ROWS },
  scaleExperts: { name: 'scale-experts', code: SCALE_EXPERTS },
  divideRows: { name: 'divide-rows', code: DIVIDE_ROWS },
} satisfies Record<string, Kernel>;

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
