import { ROUTE_NUMBERS, type Router } from '../model/feed-forward.ts';
import { QUANTIZATIONS, quantizedBytes } from '../model/quantization.ts';
import type { KeyValueCache, KeyValueCacheShape } from './key-value-cache.ts';
import type { MatrixSource } from './matrix.ts';
import { type ColumnsOf, type Operation, TOP_K_HEAD } from './operation.ts';

/** Whole numbers up to this are exact as float32. */
const MOST_EXACT = 2 ** 24;

/** @returns the matrix's bytes @throws RangeError unless it is whole blocks that lie within its source */
export function checkMatrix({ source, offset = 0, type, rows, columns }: MatrixSource): number {
  const { block } = QUANTIZATIONS[type];
  if (!(Number.isInteger(rows) && rows > 0 && Number.isInteger(columns) && columns > 0 && columns % block === 0)) {
    throw new RangeError(`a ${type} matrix of ${rows} × ${columns}; columns must be a multiple of ${block}`);
  }
  const bytes = rows * quantizedBytes(columns, type);
  const size = source instanceof Uint8Array ? source.length : source.size;
  if (!(Number.isInteger(offset) && offset >= 0 && offset + bytes <= size)) {
    const where = source instanceof Uint8Array ? 'the bytes given' : source.path;
    throw new RangeError(`a ${type} matrix of ${bytes} bytes from byte ${offset} on; ${where} has ${size}`);
  }
  return bytes;
}

/** @throws RangeError unless a head's keys and values are whole blocks of the cache's format */
export function checkCache({ type, headSize }: KeyValueCacheShape): void {
  const { block } = QUANTIZATIONS[type];
  if (headSize % block !== 0)
    throw new RangeError(`a ${type} cache of heads of ${headSize} values; they must be a multiple of ${block}`);
}

/** @returns the values @throws RangeError unless they lie in memory that threads share */
export function sharedValues(values: Float32Array): Float32Array {
  if (values.buffer instanceof SharedArrayBuffer) return values;
  throw new RangeError('a shared vector of values that are not in a SharedArrayBuffer');
}

/** @throws RangeError, naming the operation and the vector, unless every vector has the length that it needs */
export function checkOperation(operation: Operation): void {
  const { kind } = operation;
  switch (kind) {
    case 'embed': {
      const { table, tokens, y } = operation;
      equal(kind, 'y', y.values.length, tokens.length * table.columns);
      for (const token of tokens) {
        if (!(Number.isInteger(token) && token >= 0 && token < table.rows)) {
          throw new RangeError(`embed: token ${token} of a table of ${table.rows} rows`);
        }
      }
      return;
    }
    case 'rms-norm': {
      const { x, weight, y, width = weight.values.length } = operation;
      whole(kind, 'weight', weight.values.length, width);
      whole(kind, 'x', x.values.length, weight.values.length);
      equal(kind, 'y', y.values.length, x.values.length);
      return;
    }
    case 'multiply': {
      const { matrix, x, y, bias } = operation;
      const tokens = whole(kind, 'x', x.values.length, matrix.columns);
      equal(kind, 'y', y.values.length, tokens * matrix.rows);
      if (bias !== undefined) equal(kind, 'bias', bias.values.length, matrix.rows);
      return;
    }
    case 'rope': {
      const { x, angles, heads, headSize } = operation;
      const tokens = whole(kind, 'x', x.values.length, heads * headSize);
      const dimensions = whole(kind, 'angles', angles.values.length, tokens);
      if (dimensions % 2 !== 0 || dimensions > headSize) {
        throw new RangeError(`rope: ${dimensions} values of angles per token; heads have ${headSize}`);
      }
      return;
    }
    case 'store': {
      const { cache, keys, values, position } = operation;
      const tokens = whole(kind, 'keys', keys.values.length, cache.kvHeads * cache.headSize);
      equal(kind, 'values', values.values.length, keys.values.length);
      within(kind, cache, position, tokens);
      return;
    }
    case 'attention': {
      const { cache, queries, y, heads, position, window, sinks } = operation;
      whole(kind, 'heads', heads, cache.kvHeads);
      const tokens = whole(kind, 'queries', queries.values.length, heads * cache.headSize);
      equal(kind, 'y', y.values.length, queries.values.length);
      if (sinks !== undefined) equal(kind, 'sinks', sinks.values.length, heads);
      within(kind, cache, position, tokens);
      checkWindow(kind, window);
      return;
    }
    case 'attend-pages': {
      const { pages, queries, y, heads, largest, totals, position, window, sinks } = operation;
      const [page] = pages;
      if (page === undefined) throw new RangeError(`${kind}: no pages`);
      const { kvHeads, headSize, type } = page.cache;
      whole(kind, 'heads', heads, kvHeads);
      const tokens = whole(kind, 'queries', queries.values.length, heads * headSize);
      equal(kind, 'y', y.values.length, queries.values.length);
      equal(kind, 'largest', largest.values.length, tokens * heads);
      equal(kind, 'totals', totals.values.length, tokens * heads);
      if (sinks !== undefined) equal(kind, 'sinks', sinks.values.length, heads);
      checkWindow(kind, window);
      for (const { cache, first, count } of pages) {
        equal(kind, 'KV heads of a page', cache.kvHeads, kvHeads);
        equal(kind, 'head size of a page', cache.headSize, headSize);
        if (cache.type !== type) throw new RangeError(`${kind}: pages in ${type} and ${cache.type}`);
        within(kind, cache, 0, count);
        if (!(Number.isInteger(first) && first >= 0 && Number.isInteger(position) && position >= 0))
          throw new RangeError(`${kind}: tokens at ${position}, a page from ${first} on`);
      }
      return;
    }
    case 'divide-rows':
      whole(kind, 'y', operation.y.values.length, operation.divisors.values.length);
      return;
    case 'gate':
      equal(kind, 'up', operation.up.values.length, operation.gate.values.length);
      equal(kind, 'y', operation.y.values.length, operation.gate.values.length);
      return;
    case 'softmax':
      whole(kind, 'x', operation.x.values.length, operation.width);
      equal(kind, 'y', operation.y.values.length, operation.x.values.length);
      return;
    case 'add':
      equal(kind, 'y', operation.y.values.length, operation.x.values.length);
      finite(kind, 'factor', operation.factor ?? 1);
      return;
    case 'scale':
      finite(kind, 'factor', operation.factor);
      return;
    case 'soft-cap':
      if (!(finite(kind, 'cap', operation.cap) > 0))
        throw new RangeError(`${kind}: a cap of ${operation.cap}; it must be above 0`);
      return;
    case 'top-k': {
      const { x, y, width } = operation;
      const numbers = whole(kind, 'y', y.values.length, whole(kind, 'x', x.values.length, width));
      const k = (numbers - TOP_K_HEAD) / 2;
      if (!(Number.isInteger(k) && k >= 1 && k <= width))
        throw new RangeError(
          `${kind}: y has ${numbers} values for a row of ${width}; 1 + 2k are needed, with k from 1 to ${width}`,
        );
      if (width > MOST_EXACT) throw new RangeError(`${kind}: rows of ${width} values; at most ${MOST_EXACT}`);
      return;
    }
    case 'route': {
      const { x, y, bias, scales, router } = operation;
      checkRouter(kind, router);
      const tokens = whole(kind, 'x', x.values.length, router.experts);
      equal(kind, 'y', y.values.length, tokens * router.used * ROUTE_NUMBERS);
      if (bias !== undefined) equal(kind, 'bias', bias.values.length, router.experts);
      if (scales !== undefined) equal(kind, 'scales', scales.values.length, router.experts);
      return;
    }
    case 'multiply-experts': {
      const { matrix, experts, rows, routes, used, x, y, bias, scales } = operation;
      const tokens = whole(kind, 'routes', routes.values.length, used * ROUTE_NUMBERS);
      if (!(Number.isInteger(rows) && rows >= 1 && rows <= matrix.rows))
        throw new RangeError(`${kind}: ${rows} rows of an expert; the matrix has ${matrix.rows}`);
      if (!(experts === 1 ? matrix.rows === rows : whole(kind, 'matrix', matrix.rows - rows, experts - 1) >= rows))
        throw new RangeError(`${kind}: ${experts} experts of ${rows} rows in a matrix of ${matrix.rows}`);
      if (x.values.length !== tokens * matrix.columns)
        equal(kind, 'x', x.values.length, tokens * used * matrix.columns);
      equal(kind, 'y', y.values.length, tokens * used * rows);
      if (bias !== undefined) equal(kind, 'bias', bias.values.length, experts * rows);
      if (scales !== undefined) equal(kind, 'scales', scales.values.length, experts);
      return;
    }
    case 'scale-experts': {
      const { routes, scales, bias, y } = operation;
      const rows = whole(kind, 'y', y.values.length, whole(kind, 'routes', routes.values.length, ROUTE_NUMBERS));
      if (bias !== undefined) equal(kind, 'bias', bias.values.length, scales.values.length * rows);
      return;
    }
    case 'combine-experts': {
      const { x, routes, used, y } = operation;
      const tokens = whole(kind, 'routes', routes.values.length, used * ROUTE_NUMBERS);
      equal(kind, 'x', x.values.length, used * tokens * whole(kind, 'y', y.values.length, tokens));
      return;
    }
    case 'gate-rows':
      whole(kind, 'y', operation.y.values.length, operation.gate.values.length);
      return;
    case 'copy-columns': {
      const { x, y, columns, repeats = 1 } = operation;
      const rows = checkColumns(kind, 'x', x, columns);
      equal(kind, 'y', checkColumns(kind, 'y', y, columns), rows * positive(kind, 'repeats', repeats));
      return;
    }
    case 'convolve': {
      const { x, weight, width, bias, state, y } = operation;
      if (width < 2) throw new RangeError(`${kind}: a width of ${width}; at least 2 is needed`);
      const channels = whole(kind, 'weight', weight.values.length, positive(kind, 'width', width));
      whole(kind, 'x', x.values.length, channels);
      if (bias !== undefined) equal(kind, 'bias', bias.values.length, channels);
      equal(kind, 'state', state.values.length, (width - 1) * channels);
      equal(kind, 'y', y.values.length, x.values.length);
      return;
    }
    case 'delta-rule': {
      const { x, strength, decay, decayBias, rate, state, y, keyHeads, valueHeads, size } = operation;
      whole(kind, 'valueHeads', valueHeads, positive(kind, 'keyHeads', keyHeads));
      const tokens = whole(kind, 'y', y.values.length, valueHeads * positive(kind, 'size', size));
      equal(kind, 'x', x.values.length, tokens * (2 * keyHeads + valueHeads) * size);
      for (const [what, { values }] of Object.entries({ strength, decay }))
        equal(kind, what, values.length, tokens * valueHeads);
      for (const [what, { values }] of Object.entries({ decayBias, rate }))
        equal(kind, what, values.length, valueHeads);
      equal(kind, 'state', state.values.length, valueHeads * size * size);
      return;
    }
    case 'selective-scan': {
      const { x, step, stepBias, rate, skip, state, y, heads, headSize, groups, stateSize } = operation;
      whole(kind, 'heads', heads, positive(kind, 'groups', groups));
      const tokens = whole(kind, 'y', y.values.length, heads * positive(kind, 'headSize', headSize));
      const width = heads * headSize + 2 * groups * positive(kind, 'stateSize', stateSize);
      equal(kind, 'x', x.values.length, tokens * width);
      equal(kind, 'step', step.values.length, tokens * heads);
      for (const [what, { values }] of Object.entries({ stepBias, rate, skip }))
        equal(kind, what, values.length, heads);
      equal(kind, 'state', state.values.length, heads * headSize * stateSize);
      return;
    }
  }
}

/** @returns the rows of a vector with columns in its rows @throws RangeError unless they lie in them */
function checkColumns(kind: string, what: string, { values, width, first }: ColumnsOf, columns: number): number {
  const rows = whole(kind, what, values.values.length, positive(kind, 'width', width));
  if (!(Number.isInteger(first) && first >= 0 && first + positive(kind, 'columns', columns) <= width))
    throw new RangeError(`${kind}: columns ${first} to ${first + columns - 1} of ${what}, whose rows have ${width}`);
  return rows;
}

function checkRouter(kind: string, { experts, used, groups, factor = 1 }: Router): void {
  if (!(Number.isInteger(experts) && experts >= 1 && experts <= MOST_EXACT))
    throw new RangeError(`${kind}: ${experts} experts; a whole number from 1 to ${MOST_EXACT} is needed`);
  if (!(Number.isInteger(used) && used >= 1 && used <= experts))
    throw new RangeError(`${kind}: ${used} of ${experts} experts are used`);
  finite(kind, 'factor', factor);
  if (groups === undefined) return;
  const size = whole(kind, 'experts', experts, groups.count);
  if (!(Number.isInteger(groups.used) && groups.used >= 1 && groups.used <= groups.count))
    throw new RangeError(`${kind}: ${groups.used} of ${groups.count} groups are used`);
  if (groups.used * size < used)
    throw new RangeError(`${kind}: ${groups.used} groups of ${size} experts, of which ${used} are used`);
}

/**
 * Checks that tokens and positions fit prepared operations.
 * @returns a check, which throws RangeError
 */
export function placeCheck(operations: readonly Operation[]): (tokens: readonly number[], position: number) => void {
  const tables = operations.flatMap((one) => (one.kind === 'embed' ? [one] : []));
  const rows = Math.min(...tables.map(({ table }) => table.rows));
  const last = Math.min(
    ...operations.map((one) => {
      if (one.kind === 'store')
        return one.cache.capacity - one.keys.values.length / (one.cache.kvHeads * one.cache.headSize);
      if (one.kind === 'attention')
        return one.cache.capacity - one.queries.values.length / (one.heads * one.cache.headSize);
      return Number.POSITIVE_INFINITY;
    }),
  );
  return (tokens, position) => {
    for (const { tokens: prepared } of tables) equal('embed', 'tokens', tokens.length, prepared.length);
    for (const token of tokens)
      if (!(Number.isInteger(token) && token >= 0 && token < rows))
        throw new RangeError(`embed: token ${token} of a table of ${rows} rows`);
    if (!(Number.isInteger(position) && position >= 0 && position <= last))
      throw new RangeError(`position ${position} of prepared operations; at most ${last} fits their caches`);
  };
}

function equal(kind: string, what: string, found: number, expected: number): void {
  if (found !== expected) throw new RangeError(`${kind}: ${what} has ${found} values; ${expected} are needed`);
}

/** `length` divided by `part`. @throws RangeError unless that is a whole number of at least 1 */
function whole(kind: string, what: string, length: number, part: number): number {
  if (!(part > 0 && length > 0 && length % part === 0)) {
    throw new RangeError(`${kind}: ${what} has ${length} values; a multiple of ${part} is needed`);
  }
  return length / part;
}

/** @returns the value @throws RangeError unless it is a whole number of at least 1 */
function positive(kind: string, what: string, value: number): number {
  if (!(Number.isSafeInteger(value) && value >= 1))
    throw new RangeError(`${kind}: ${what} of ${value}; a whole number of at least 1 is needed`);
  return value;
}

/** @returns the value @throws RangeError unless it is a finite number */
function finite(kind: string, what: string, value: number): number {
  if (!Number.isFinite(value)) throw new RangeError(`${kind}: a ${what} of ${value}; a finite number is needed`);
  return value;
}

function checkWindow(kind: string, window: number | undefined): void {
  if (window !== undefined && !(Number.isSafeInteger(window) && window >= 1))
    throw new RangeError(`${kind}: a window of ${window} positions; a whole number of at least 1 is needed`);
}

function within(kind: string, cache: KeyValueCache, position: number, tokens: number): void {
  if (!(Number.isInteger(position) && position >= 0 && position + tokens <= cache.capacity)) {
    throw new RangeError(`${kind}: positions ${position} to ${position + tokens - 1} of a cache of ${cache.capacity}`);
  }
}
