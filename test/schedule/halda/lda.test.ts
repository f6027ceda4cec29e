import fc from 'fast-check';
import { add, diag, multiply } from 'mathjs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deviceSeconds } from '../../../engine/cost/device-seconds.ts';
import type { DeviceCosts, RingCosts } from '../../../engine/cost/ring-costs.ts';
import { type DeviceSet, overloadSet, overloads, vectorForm } from '../../../engine/schedule/halda/lda.ts';
import { toyRing } from '../../support/toy-ring.ts';

/** One device of every kind; 12 layers of 10 bytes, hop 0.5 s. */
const RING: RingCosts = {
  ...toyRing(12, 0.5, [
    { name: 'linux', cpuLayer: 4, gpuLayer: 1, available: 45, gpuRoom: 36, reloadRate: 5 },
    { name: 'mac', kind: 'macos', cpuLayer: 3, available: 25, reloadRate: 2 },
    { name: 'metal', kind: 'macos-metal', cpuLayer: 2, gpuLayer: 1, available: 60, gpuRoom: 60, reloadRate: 4 },
    { name: 'phone', kind: 'android', cpuLayer: 6, available: 15, reloadRate: 1 },
  ]),
  outputBytes: 7,
  embeddingRowBytes: 1,
};

test('objective vectors and κ equal those computed by hand, with every device overloaded', () => {
  const { a, b, c, kappa } = vectorForm(RING, ['M3', 'M1', 'M2', 'M3']);
  // a: α + b′/s: 4 + 10/5, 3 + 10/2, 2 + 10/4 (b, not b′), 6 + 10/1
  assert.equal(a, [6, 8, 4.5, 16]);
  // b: β − b′/s on Linux: −3 − 2; 0 for M1; β = −1 for M2; the phone has no GPU: β = 0, and saves 10 a layer
  assert.equal(b, [-5, 0, -1, -10]);
  assert.equal(c, [0.5, 0.5, 0.5, 0.5]);
  // κ: the head's row and output layer from disk (1 + 7)/5, and −d/s of M1 and M3: −45/5 − 25/2 − 15/1
  assert.is(kappa, 1.6 - 9 - 12.5 - 15);
});

test('with enough memory objective vectors and κ have no disk time except for the row that is looked up', () => {
  const { a, b, kappa } = vectorForm(RING, ['M4', 'M4', 'M4', 'M4']);
  assert.equal(a, [4, 3, 2, 6]);
  assert.equal(b, [-3, 0, -1, 0]);
  assert.is(kappa, 1 / 5);
});

test('rows and bounds have the signs of Eqs. 30–32', () => {
  const { rows, pw, pn, z, zGpu } = vectorForm(RING, ['M4', 'M1', 'M4', 'M3']);
  // M1: mac. M2: none. M3: phone. M4 three times, for Eqs. 30, 31, 32: linux and metal each time.
  assert.equal(rows, [1, 3, 0, 2, 0, 2, 0, 2]);
  assert.equal(pw, [-1, -1, 0, 0, 0, 1, 1, 0]);
  assert.equal(pn, [0, 1, 0, 0, 0, 0, -1, 0]);
  // z in shares of W: mac 25/120; phone 15/120; metal −60/120; linux −(45 − 1 − 7)/120
  assert.equal(z, [25 / 120, 15 / 120, 0, 0, 0, -60 / 120, -37 / 120, 0]);
  assert.equal(zGpu, [36 / 120, 0, 60 / 120, 0]);
});

test('the matrix form P_w w′ + P_n n′ + W z ≤ 0 holds if, and only if, the sets are right', () => {
  const check = (w: number[], n: number[], sets: DeviceSet[]): boolean => {
    const { rows, pw, pn, z } = vectorForm(RING, sets);
    const total = w.reduce((sum, value) => sum + value, 0);
    const left = add(
      add(
        multiply(
          diag([...pw]),
          rows.map((device) => w[device] ?? 0),
        ),
        multiply(
          diag([...pn]),
          rows.map((device) => n[device] ?? 0),
        ),
      ),
      z.map((share) => total * share),
    ) as number[];
    return left.every((value) => value <= 1e-12);
  };
  const layers = fc.tuple(...[0, 1, 2, 3].map(() => fc.integer({ min: 1, max: 9 })));
  fc.assert(
    fc.property(layers, fc.integer({ min: 0, max: 3 }), ([first, second, third], onGpu) => {
      const w = [first as number, second as number, third as number];
      const last = 12 - w.reduce((sum, value) => sum + value, 0);
      fc.pre(last >= 1);
      const windows = [...w, last];
      const n = [Math.min(onGpu, windows[0] as number), 0, 0, 0];
      const sets = RING.devices.map((device, index): DeviceSet => {
        const overloaded = overloads(RING, index, windows[index] as number, n[index] as number);
        return overloaded ? overloadSet(device) : 'M4';
      });
      assert.ok(check(windows, n, sets), `${windows} ${n} ${sets}`);
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('k (aᵀw + bᵀn + eᵀc) + κ equals the devices’ seconds and hops if the sets are right', () => {
  fc.assert(
    fc.property(
      fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: 1, max: 4 }))),
      fc.integer({ min: 0, max: 3 }),
      ([first, second, third], onGpu) => {
        const windows = [first as number, second as number, third as number];
        windows.push(12 - windows.reduce((sum, value) => sum + value, 0));
        fc.pre((windows[3] as number) >= 1);
        const n = [Math.min(onGpu, windows[0] as number), 0, Math.min(onGpu, windows[2] as number), 0];
        const sets = RING.devices.map((device, index): DeviceSet => {
          return overloads(RING, index, windows[index] as number, n[index] as number) ? overloadSet(device) : 'M4';
        });
        const { a, b, c, kappa } = vectorForm(RING, sets);
        const vector = windows.reduce(
          (sum, w, m) => sum + (a[m] as number) * w + (b[m] as number) * (n[m] as number) + (c[m] as number),
          kappa,
        );
        const summed = windows.reduce((sum, w, m) => {
          const gpuLayers = n[m] as number;
          const load = {
            cpuLayers: w - gpuLayers,
            gpuLayers,
            output: m === 0 ? 'cpu' : undefined,
            prefetches: true,
            kvInRam: false,
          } as const;
          return sum + deviceSeconds(RING, RING.devices[m] as DeviceCosts, load, 1, 'overflow') + 0.5;
        }, 0);
        assert.ok(Math.abs(vector - summed) < 1e-9, `${windows} ${n} ${sets}: ${vector} and ${summed}`);
      },
    ),
    { seed: 2, numRuns: 300 },
  );
});

test.run();
