import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import type { KeyValueCache } from '../../engine/kernels/key-value-cache.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../engine/kernels/operation.ts';
import { testIf } from '../support/needs.ts';
import { NATIVE_SETS } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';

const [WIDTH, ROWS, CAPACITY] = [32, 7, 12];

/** Embeds two tokens, multiplies them, stores them as keys and values, and attends to them. */
function pass(kernels: Kernels) {
  const source = new Uint8Array(Float32Array.from(randomValues(randomFrom(3), WIDTH * WIDTH, 0.3)).buffer);
  const table = kernels.matrix({ source, type: 'F32', rows: ROWS, columns: WIDTH });
  const matrix = kernels.matrix({ source, type: 'F32', rows: WIDTH, columns: WIDTH });
  const cache = kernels.cache({ type: 'F32', kvHeads: 2, capacity: CAPACITY, headSize: WIDTH / 2 });
  const [x, y, z] = [1, 2, 3].map(() => kernels.vector(2 * WIDTH));
  assert.ok(x !== undefined && y !== undefined && z !== undefined);
  const operations = (tokens: readonly number[], position: number): Operation[] => [
    { kind: 'embed', table, tokens, y: x },
    { kind: 'multiply', matrix, x, y, multiplied: 'singly' },
    { kind: 'store', cache, keys: x, values: y, position },
    { kind: 'attention', cache, queries: y, y: z, heads: 2, position, scale: 1 },
  ];
  return { operations, cache, z };
}

function withKernels(run: (kernels: Kernels) => void): void {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  try {
    run(kernels);
  } finally {
    kernels.close();
  }
}

const prepared = (kernels: Kernels, operations: readonly Operation[]) => {
  assert.ok(kernels.prepare !== undefined);
  return kernels.prepare(operations);
};

const native = (name: string, run: (kernels: Kernels) => void): void =>
  testIf(NATIVE_SETS.length > 0, 'native kernels are not built', name, () => withKernels(run));

native('prepared operations do what `run` does, at other positions and with other tokens', (kernels) => {
  const [own, other] = [pass(kernels), pass(kernels)];
  const again = prepared(kernels, own.operations([0, 0], 0));
  for (const [tokens, position] of [
    [[1, 2], 0],
    [[3, 6], 2],
    [[5, 0], 4],
    [[2, 4], 1],
  ] as const) {
    again.run(tokens, position);
    kernels.run(other.operations(tokens, position));
    assert.equal([...own.z.values], [...other.z.values], `${tokens} at ${position}`);
    assert.ok(own.z.values.some((value) => value !== 0));
  }
});

native('tokens and positions that don’t fit are refused before anything is computed', (kernels) => {
  const { operations, z } = pass(kernels);
  const again = prepared(kernels, operations([0, 1], 0));
  again.run([1, 2], 0);
  const before = [...z.values];
  assert.throws(() => again.run([1], 0), 'embed: tokens has 1 values; 2 are needed');
  assert.throws(() => again.run([1, ROWS], 0), 'embed: token 7 of a table of 7 rows');
  assert.throws(() => again.run([1, 0.5], 0), 'embed: token 0.5');
  assert.throws(() => again.run([1, 2], CAPACITY - 1), 'position 11 of prepared operations; at most 10 fits');
  assert.throws(() => again.run([1, 2], -1), 'position -1');
  assert.equal([...z.values], before);
});

native('operations that don’t fit, and attention to pages, are not prepared', (kernels) => {
  const { cache, z } = pass(kernels);
  assert.throws(() => prepared(kernels, [{ kind: 'add', x: z, y: z.slice(0, 3) }]), 'add: y has 3 values');
  const pages = [{ cache, first: 0, count: 1 }];
  const sums = kernels.vector(4);
  const shape = { heads: 2, position: 0, scale: 1, begins: true };
  const attend: Operation = { kind: 'attend-pages', pages, queries: z, y: z, largest: sums, totals: sums, ...shape };
  assert.throws(() => prepared(kernels, [attend]), 'attend-pages: pages have places of their own');
});

native('a freed cache ends the programs that use it, and no others', (kernels) => {
  const [freed, kept] = [pass(kernels), pass(kernels)];
  const [ended, goesOn] = [freed, kept].map(({ operations }) => prepared(kernels, operations([0, 0], 0)));
  kernels.freeCache(freed.cache as KeyValueCache);
  assert.throws(() => ended?.run([1, 2], 0), 'there is no such program');
  goesOn?.run([1, 2], 0);
  assert.ok(kept.z.values.some((value) => value !== 0));
});

test.run();
