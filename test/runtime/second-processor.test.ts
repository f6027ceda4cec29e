import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { type Graph, kernelsAsSecond } from '../../engine/runtime/cut/second-processor.ts';

const kernels = openKernels({ implementation: 'reference' });
const source = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer);
const weights = { rows: () => [{ matrix: kernels.matrix({ source, type: 'F32', rows: 2, columns: 2 }) }] };
const shared = new Float32Array(new SharedArrayBuffer(4 * 8));
const second = kernelsAsSecond(kernels, weights, kernels.sharedVector?.(shared));
const GRAPH = { name: 'down', layer: 0, rows: 2, columns: 2, length: 1 } as const satisfies Partial<Graph>;

test('x in shared memory is read, and results are written or added, where they are', () => {
  shared.set([10, 1]);
  const [x, values] = [shared.subarray(0, 2), shared.subarray(4, 6)];
  assert.is(second.begin({ ...GRAPH, x, places: [{ values, accumulate: false }] })(), undefined);
  assert.equal([...values], [12, 34]);
  assert.is(second.begin({ ...GRAPH, x, places: [{ values, accumulate: true }] })(), undefined);
  assert.equal([...values], [24, 68]);
});

test('results that belong elsewhere are handed back, those of padding too', () => {
  const x = Float32Array.of(10, 1);
  const values = new Float32Array(2);
  const places = [{ values, accumulate: false }];
  assert.equal([...(second.begin({ ...GRAPH, x, places })() as Float32Array)], [12, 34]);
  assert.equal([...(second.begin({ ...GRAPH, x, length: 2 })() as Float32Array)], [12, 34, 0, 0]);
  assert.equal([...values], [0, 0]);
});

test.run();
