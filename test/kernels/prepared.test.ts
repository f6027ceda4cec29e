import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import type { Kernels, PreparedOperations } from '../../engine/kernels/kernels.ts';
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
    { kind: 'attention', cache, queries: y, y: z, heads: 2, position, window: 3, scale: 1 },
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
  return kernels.prepare(operations) as Required<PreparedOperations>;
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

/** Embeds a token and multiplies it with narrow rows: a model whose every token is followed by a fixed one. */
function chain(kernels: Kernels, type: 'F32' | 'Q8_0') {
  const [width, rows] = [64, 21];
  const source = blocks(type, randomValues(randomFrom(5), width * rows, 0.3));
  const table = kernels.matrix({ source, type, rows, columns: width });
  const [x, logits, passAngles] = [kernels.vector(width), kernels.vector(rows), kernels.vector(4)];
  const operations: Operation[] = [
    { kind: 'embed', table, tokens: [0], y: x },
    { kind: 'multiply', matrix: table, x, y: logits },
  ];
  return { operations, logits, passAngles };
}

function blocks(type: 'F32' | 'Q8_0', values: readonly number[]): Uint8Array {
  return type === 'F32' ? new Uint8Array(Float32Array.from(values).buffer) : quantize(type, Float32Array.from(values));
}

const byLogit = (logits: Float32Array): number[] =>
  [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number));

native('matrices of small prepared programs give the products of `run`, bit by bit', (kernels) => {
  for (const type of ['F32', 'Q8_0'] as const) {
    const { operations, logits } = chain(kernels, type);
    const again = prepared(kernels, operations);
    for (const token of [0, 7, 20]) {
      again.run([token], 0);
      const found = [...logits.values];
      kernels.run(operations.map((one) => (one.kind === 'embed' ? { ...one, tokens: [token] } : one)));
      assert.equal(found, [...logits.values], `${type}, token ${token}`);
    }
  }
});

native('likely tokens are written in one call as they are one by one', (kernels) => {
  const { operations, logits, passAngles } = chain(kernels, 'Q8_0');
  const again = prepared(kernels, operations);
  const written: number[] = [];
  const leads: number[] = [];
  again.run([4], 0);
  for (let token = 3; written.length < 6; token = written.at(-1) as number) {
    again.run([token], 0);
    const [first = 0, second = 0] = byLogit(logits.values);
    leads.push((logits.values[first] as number) - (logits.values[second] as number));
    written.push(first);
  }
  const angles = Float32Array.from({ length: 7 * 4 }, (_, index) => index);
  const common = { known: [4, 3], position: 2, most: 6, leastLead: 0, ends: new Set<number>() };
  const text = { ...common, angles, passAngles, logits };
  assert.equal(again.writeGreedily(text), { tokens: written, passes: 7 });
  assert.equal([...passAngles.values], [24, 25, 26, 27], 'those of the last pass');
  assert.equal(again.writeGreedily({ ...text, most: 2 }), { tokens: written.slice(0, 2), passes: 3 });
  const least = Math.min(...leads);
  const unsure = leads.indexOf(least);
  const stopped = again.writeGreedily({ ...text, leastLead: least * (1 + 1e-6) });
  assert.equal(stopped, { tokens: written.slice(0, unsure), passes: 2 + unsure });
  const ended = again.writeGreedily({ ...text, ends: new Set([written[0] as number]) });
  assert.equal(ended, { tokens: written.slice(0, 1), passes: 2 });
  assert.throws(() => again.writeGreedily({ ...text, known: [] }), 'a text needs tokens before it');
  assert.throws(() => again.writeGreedily({ ...text, most: 7 }), 'every pass needs its angles');
  assert.throws(() => again.writeGreedily({ ...text, known: [21] }), 'embed: token 21 of a table of 21 rows');
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
