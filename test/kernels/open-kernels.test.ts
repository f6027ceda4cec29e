import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../engine/input/input-error.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { COMMANDS } from '../../engine/kernels/native/commands.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { NATIVE_SETS, testNative } from './native-sets.ts';

const folder = mkdtempSync(join(tmpdir(), 'kernels-'));
const file = join(folder, 'weights');
writeFileSync(file, new Uint8Array(Float32Array.of(9, 9, 1, 2, 3, 4).buffer));
writeFileSync(join(folder, 'empty'), '');
test.after(() => rmSync(folder, { recursive: true }));

const all = (): Kernels[] => [
  openKernels({ implementation: 'reference' }),
  ...(NATIVE_SETS.length === 0 ? [] : [openKernels({ implementation: 'native', threads: 2 })]),
];

test('a matrix may begin at any offset of a mapped file', () => {
  for (const kernels of all()) {
    const source = kernels.mapFile(file);
    assert.is(source.size, 24);
    const matrix = kernels.matrix({ source, offset: 8, type: 'F32', rows: 2, columns: 2 });
    const y = kernels.vector(2);
    kernels.run([{ kind: 'multiply', matrix, x: kernels.vector([1, 1]), y }]);
    assert.equal([...y.values], [3, 7], kernels.name);
    kernels.close();
    assert.equal([...y.values], [3, 7], 'vectors outlive their kernels');
  }
});

test('a missing file, an empty file and a folder are InputErrors that name the path', () => {
  for (const kernels of all()) {
    for (const path of [join(folder, 'missing'), join(folder, 'empty'), folder]) {
      assert.throws(
        () => kernels.mapFile(path),
        (error: unknown) => error instanceof InputError && error.where === path,
      );
    }
    kernels.close();
  }
});

test('matrices beyond their source or with partial blocks are refused', () => {
  for (const kernels of all()) {
    const source = kernels.mapFile(file);
    assert.throws(
      () => kernels.matrix({ source, offset: 16, type: 'F32', rows: 2, columns: 2 }),
      /16 bytes from byte 16 on/,
    );
    const bytes = new Uint8Array(100);
    assert.throws(() => kernels.matrix({ source: bytes, type: 'Q8_0', rows: 1, columns: 33 }), /multiple of 32/);
    assert.throws(() => kernels.matrix({ source: bytes, type: 'F16', rows: 0, columns: 4 }), /0 × 4/);
    kernels.close();
  }
});

test('operations with mismatching shapes are refused before anything is computed', () => {
  for (const kernels of all()) {
    const [x, y] = [kernels.vector([1, 2]), kernels.vector([3, 4])];
    const matrix = kernels.matrix({ source: new Uint8Array(24), type: 'F32', rows: 3, columns: 2 });
    const cache = kernels.cache({ type: 'F16', kvHeads: 1, capacity: 4, headSize: 2 });
    assert.throws(
      () =>
        kernels.run([
          { kind: 'add', x, y },
          { kind: 'multiply', matrix, x, y },
        ]),
      /y has 2 values; 3 are needed/,
    );
    assert.equal([...y.values], [3, 4]);
    assert.throws(
      () => kernels.run([{ kind: 'embed', table: matrix, tokens: [3], y }]),
      /token 3 of a table of 3 rows/,
    );
    assert.throws(() => kernels.run([{ kind: 'store', cache, keys: x, values: y, position: 4 }]), /position/);
    assert.throws(() => kernels.run([{ kind: 'softmax', x, y, width: 0 }]), /multiple of 0/);
    assert.throws(() => x.slice(1, 3), /slice 1 to 3 of a vector of 2/);
    kernels.close();
  }
});

testNative('what is not there: instruction sets, threads, closed kernels', () => {
  assert.throws(() => openKernels({ instructionSet: 'avx51' }), /"avx51" is not available here/);
  assert.throws(() => openKernels({ threads: 0 }), /0 is not a whole number from 1 to 1024/);
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  kernels.close();
  assert.throws(() => kernels.run([]), /closed/);
});

testNative('commands that would touch memory beyond what the engine owns are refused', (native) => {
  const engine = new native.Engine('auto', 1, false, false);
  engine.vector(4);
  engine.cache(1, 1, 64, 2);
  engine.cache(1, 1, 64, 4);
  const refused = (what: RegExp, ...commands: number[]): void =>
    assert.throws(() => engine.run(Float64Array.from(commands), commands.length), what);
  refused(/no such operation/, Object.keys(COMMANDS).length);
  refused(/no such operation/, 2 ** 32);
  refused(/ends before/, 8, 0, 0);
  refused(/no such vector/, 8, 1, 0, 1, 0, 0, 1);
  refused(/beyond its vector/, 8, 0, 3, 2, 0, 0, 2);
  refused(/whole number/, 8, -1, 0, 1, 0, 0, 1);
  refused(/whole number/, 8, 0, 0.5, 1, 0, 0, 1);
  refused(/no such matrix/, 2, 0, 0, 0, 1, 0, 0, 1, -1, 0, 0, 0, 0);
  refused(/x isn't whole rows/, 11, 0, 0, 4, 0, 0, 3, 3);
  refused(/capacity/, 4, 0, 0, 0, 2, 0, 0, 2, 64);
  refused(/capacity/, 9, 1, 0, 0, 65, 0, 0, 2, 0, 2, 2, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0);
  refused(/a value for each head/, 9, 1, 0, 0, 64, 0, 0, 2, 0, 2, 2, 0, 0, 2, 0, 1, 1, 1, 0, 1, 1, 0, 0);
  refused(/no pages/, 9, 0);
  refused(/no pages/, 9, 1000, 0, 0, 1);
  refused(/caches differ in shape/, 9, 2, 0, 0, 1, 1, 0, 1, 0, 0, 2, 0, 2, 2, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0);
  refused(/a row for each divisor/, 10, 0, 0, 3, 0, 0, 4);
  assert.throws(() => engine.run(new Float64Array(2), 3), /more commands than the array holds/);
  assert.throws(() => engine.matrix(new Uint8Array(7), 0, 1, 2), /beyond the end of its bytes/);
  assert.throws(() => engine.matrix(new Uint8Array(8), 0, 2 ** 40, 2 ** 40), /too large|beyond/);
  engine.close();
});

testNative('bytes of a matrix that were transferred away are noticed', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const bytes = new Uint8Array(new Float32Array(4).buffer);
  const matrix = kernels.matrix({ source: bytes, type: 'F32', rows: 2, columns: 2 });
  const [x, y] = [kernels.vector(2), kernels.vector(2)];
  kernels.run([{ kind: 'multiply', matrix, x, y }]);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  assert.throws(() => kernels.run([{ kind: 'multiply', matrix, x, y }]), /transferred/);
  kernels.close();
});

test.run();
