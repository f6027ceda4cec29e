import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { COMMANDS, type CommandBuffer, encode } from '../../../engine/kernels/native/commands.ts';
import { PAGE_JOB_CODES } from '../../../engine/kernels/native/file-pages.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../../engine/kernels/operation.ts';
import { type Vector, vectorOver } from '../../../engine/kernels/vector.ts';
import { QUANTIZATIONS, type QuantizationFormat } from '../../../engine/model/quantization.ts';
import { testNative } from '../native-sets.ts';

testNative('formats are the same in both languages: names, numbers, block sizes, minimums', (native) => {
  const rows = Object.entries<QuantizationFormat>(QUANTIZATIONS).map(([name, row]) => {
    const { ggmlType, block, bytes, hasMinimum } = row;
    return { name, ggmlType, block, bytes, hasMinimum };
  });
  assert.equal(native.formats(), rows);
});

testNative('commands are the same in both languages: names, codes, operands', (native) => {
  const listed = native.commands().map(({ name, operands }, code) => [name, { code, operands }]);
  assert.equal(Object.fromEntries(listed), COMMANDS);
});

testNative('jobs on pages have the same codes in both languages', (native) => {
  const codes = Object.entries(PAGE_JOB_CODES).sort((a, b) => a[1] - b[1]);
  assert.equal(
    codes.map(([, code]) => code),
    codes.map((_, place) => place),
  );
  assert.equal(native.pageJobs(), [...codes.map(([name]) => name), 'read']);
});

/** Operations of recurrent layers, on two tokens. */
function recurrentOperations(vector: (length: number) => Vector): Operation[] {
  const [x, y, both, one] = [vector(8), vector(4), vector(2), vector(1)];
  const heads = { decayBias: one, rate: one, keyHeads: 1, valueHeads: 1 };
  const scan = { stepBias: one, rate: one, skip: one, heads: 1, groups: 1 };
  return [
    {
      kind: 'copy-columns',
      x: { values: both, width: 1, first: 0 },
      y: { values: x, width: 2, first: 1 },
      ...{ columns: 1, repeats: 2 },
    },
    {
      kind: 'convolve',
      x: x.slice(0, 4),
      weight: x.slice(4, 8),
      width: 2,
      bias: both,
      state: both,
      y,
      activation: 'silu',
    },
    {
      kind: 'delta-rule',
      ...{ x: vector(12), strength: both, decay: both, ...heads, state: x.slice(0, 4), y },
      ...{ size: 2, order: 'apart', epsilon: 1e-6 },
    },
    { kind: 'selective-scan', x, step: both, ...scan, state: both, y, headSize: 2, stateSize: 1 },
  ];
}

/** An operation of every kind, on vectors of two tokens and two heads; two experts of one row. */
function everyOperation(kernels: Kernels): Operation[] {
  const matrix = kernels.matrix({ source: new Uint8Array(16), type: 'F32', rows: 2, columns: 2 });
  const cache = kernels.cache({ type: 'F32', kvHeads: 1, capacity: 4, headSize: 2 });
  const [x, y, both] = [kernels.vector([1, 2, 3, 4]), kernels.vector(4), kernels.vector([1, 1])];
  const heads = kernels.vector(8);
  const router = { experts: 2, used: 1, scores: 'softmax', normalised: true } as const;
  const experts = { matrix, experts: 2, rows: 1, routes: x, used: 1 };
  return [
    { kind: 'embed', table: matrix, tokens: [0, 1], y },
    { kind: 'rms-norm', x, weight: both, y, epsilon: 1e-5 },
    { kind: 'rms-norm', x, weight: both, y, epsilon: 1e-5, width: 1 },
    { kind: 'multiply', matrix, x, y },
    { kind: 'multiply', matrix, x, y, bias: both, accumulate: true },
    { kind: 'rope', x, angles: kernels.vector(4), heads: 1, headSize: 2, pairs: 'halves' },
    { kind: 'store', cache, keys: x, values: y, position: 0 },
    { kind: 'attention', cache, queries: x, y, heads: 1, position: 0, scale: 1 },
    { kind: 'attention', cache, queries: x, y, heads: 1, position: 0, scale: 1, sinks: kernels.vector(1) },
    {
      kind: 'attend-pages',
      pages: [
        { cache, first: 0, count: 1 },
        { cache, first: 1, count: 1 },
      ],
      queries: heads,
      y: kernels.vector(8),
      largest: kernels.vector(4),
      totals: kernels.vector(4),
      heads: 2,
      position: 1,
      scale: 1,
      begins: true,
    },
    { kind: 'divide-rows', divisors: kernels.vector([1, 2]), y },
    { kind: 'gate', activation: 'silu', gate: x, up: x, y },
    { kind: 'softmax', x, y, width: 2 },
    { kind: 'add', x, y },
    { kind: 'scale', y, factor: 2 },
    { kind: 'soft-cap', y, cap: 2 },
    { kind: 'top-k', x, y: kernels.vector(6), width: 2 },
    { kind: 'route', x, y, router },
    { kind: 'route', x, scales: both, y, router },
    { kind: 'route', x, bias: both, y, router: { ...router, groups: { count: 2, used: 1 } } },
    { kind: 'multiply-experts', ...experts, x: y, y: kernels.vector(2) },
    { kind: 'multiply-experts', ...experts, x: y, y: kernels.vector(2), bias: both, multiplied: 'together' },
    { kind: 'scale-experts', routes: x, scales: both, y: kernels.vector(2) },
    { kind: 'scale-experts', routes: x, scales: both, bias: both, y: kernels.vector(2) },
    { kind: 'combine-experts', x, routes: y, used: 1, y: heads.slice(0, 4) },
    { kind: 'gate-rows', gate: both, y },
    ...recurrentOperations(kernels.vector),
  ];
}

/** Numbers that the operands of a command take, from its first operand on. */
function operandCount(operands: string, numbers: readonly number[]): number {
  let at = 0;
  for (const operand of operands.split(' ')) {
    if (operand === 'tokens') at += 1 + (numbers[at] as number);
    else if (operand === 'pages') at += 1 + 3 * (numbers[at] as number);
    else at += operand === 'vector' || operand === 'vector?' ? 3 : 1;
  }
  return at;
}

testNative('every operation is encoded as its code and the operands listed for it', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const operations = everyOperation(kernels);
  assert.equal(new Set(operations.map(({ kind }) => kind)), new Set(Object.keys(COMMANDS)));
  for (const operation of operations) {
    const buffer: CommandBuffer = { numbers: new Float64Array(4), count: 0 };
    encode(buffer, operation);
    const [code, ...operands] = buffer.numbers.subarray(0, buffer.count);
    const command = COMMANDS[operation.kind];
    assert.is(code, command.code);
    assert.is(operands.length, operandCount(command.operands, operands), operation.kind);
  }
  kernels.close();
});

/** Places of a command's operands that are single numbers of a kind, from the code on. */
function placesOf(operands: string, wanted: string): number[] {
  let at = 1;
  return operands.split(' ').flatMap((operand) => {
    const place = at;
    at += operand === 'vector' || operand === 'vector?' ? 3 : 1;
    return operand === wanted ? [place] : [];
  });
}

testNative('numbers of experts, heads and groups that the vectors and matrices do not have are refused', (native) => {
  const engine = new native.Engine('auto', 1, false, false);
  const format = QUANTIZATIONS.F32.ggmlType;
  const matrix = { id: engine.matrix(new Uint8Array(16), format, 2, 2), type: 'F32', rows: 2, columns: 2 } as const;
  const vector = (length: number) => vectorOver(...engine.vector(length));
  const [x, y, routes] = [vector(4), vector(2), vector(4)];
  const experts = { experts: 2, rows: 1, used: 1 };
  const router = { experts: 2, used: 1, scores: 'sigmoid', normalised: false } as const;
  const operations: Operation[] = [
    { kind: 'route', x, y: routes, router },
    { kind: 'multiply-experts', matrix, ...experts, routes, x, y },
    { kind: 'combine-experts', x, routes, used: 1, y: vector(4) },
    { kind: 'rms-norm', x, weight: y, y: routes, epsilon: 0, width: 2 },
    ...recurrentOperations(vector),
  ];
  for (const operation of operations) {
    const buffer: CommandBuffer = { numbers: new Float64Array(32), count: 0 };
    encode(buffer, operation);
    engine.run(buffer.numbers, buffer.count);
    for (const place of placesOf(COMMANDS[operation.kind].operands, 'count'))
      for (const wrong of [2 ** 53 - 1, 2 ** 32, 5, -1, 0.5, Number.NaN]) {
        const changed = buffer.numbers.slice();
        changed[place] = wrong;
        assert.throws(() => engine.run(changed, buffer.count), undefined, `${operation.kind}, ${place}: ${wrong}`);
      }
  }
  engine.close();
});

testNative('the addon reads each command to its end: another may follow, and none may be cut short', (native) => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const operations = everyOperation(kernels);
  kernels.run(operations.flatMap((operation) => [operation, operation]));
  kernels.close();
  const engine = new native.Engine('auto', 1, false, false);
  for (const { kind } of operations) {
    const cut = Float64Array.of(COMMANDS[kind].code);
    assert.throws(() => engine.run(cut, 1), /ends before its operands do/, kind);
  }
  engine.close();
});

test.run();
