import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../../datasets/load.ts';
import { randomCluster } from '../../../datasets/random-cluster.ts';
import { deviceSeconds } from '../../../engine/cost/device-seconds.ts';
import { RECLAIM_POLICIES } from '../../../engine/cost/reclaim.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../../engine/cost/ring-costs.ts';
import type { ProcessorKind } from '../../../engine/hardware/device.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { everyEntry, secondsAt } from '../../../engine/schedule/exact/window-seconds.ts';
import {
  type WindowTableOptions,
  windowSeconds,
  windowSplit,
  windowTable,
} from '../../../engine/schedule/exact/window-table.ts';
import { divisors } from '../../../engine/schedule/scheduler.ts';
import { relativelyNear } from '../../support/near.ts';
import { randomRings } from '../../support/random-ring.ts';
import { type ToyDevice, toyRing } from '../../support/toy-ring.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** Layers of 10 bytes, 1 s each on the CPU; reloads at 1 B/s, so 10 s per layer. */
const PC: ToyDevice = { name: 'pc', cpuLayer: 1, available: 20, reloadRate: 1 };

/** The best windows of 0 to 4 layers: seconds, and GPU layers. */
function tableOf(
  device: ToyDevice,
  given: Partial<WindowTableOptions> = {},
): { seconds: number[]; gpuLayers: number[] } {
  const costs = toyRing(4, 0, [device]);
  const [only] = costs.devices as readonly [DeviceCosts];
  const choices: WindowTableOptions = { rounds: 1, reclaim: 'overflow', outputs: undefined, ...given };
  const seconds = [...windowTable(costs, only, choices)];
  return {
    seconds,
    gpuLayers: seconds.map((_, window) => windowSplit(costs, only, choices, window).gpuLayers),
  };
}

test('without a GPU each layer beyond two costs its reload; lru reloads all; under double nothing is prefetched', () => {
  assert.equal(tableOf(PC).seconds, [0, 1, 2, 3 + 10, 4 + 20]);
  assert.equal(tableOf(PC, { reclaim: 'lru' }).seconds, [0, 1, 2, 3 + 30, 4 + 40]);
  assert.equal(tableOf(PC, { reclaim: 'double' }).seconds, [0, 1, 2, 3 + 30, 4 + 40]);
});

test('a faster GPU takes as many layers as fit', () => {
  const { seconds, gpuLayers } = tableOf({ ...PC, gpuLayer: 0.5, gpuRoom: 29 });
  assert.equal(gpuLayers, [0, 1, 2, 2, 2]);
  assert.equal(seconds, [0, 0.5, 1, 2, 3]);
});

test('a slower GPU takes only what the RAM can’t hold', () => {
  const { seconds, gpuLayers } = tableOf({ ...PC, gpuLayer: 5, gpuRoom: 100 });
  assert.equal(gpuLayers, [0, 0, 0, 1, 2]);
  assert.equal(seconds, [0, 1, 2, 7, 12]);
});

test('a GPU that is slower than the disk is not used', () => {
  const { seconds, gpuLayers } = tableOf({ ...PC, gpuLayer: 12, gpuRoom: 100 });
  assert.equal(gpuLayers, [0, 0, 0, 0, 0]);
  assert.equal(seconds, [0, 1, 2, 13, 24]);
});

test('with two rounds a device holds the layers of two windows', () => {
  const { seconds, gpuLayers } = tableOf({ ...PC, gpuLayer: 0.5, gpuRoom: 39 }, { rounds: 2 });
  assert.equal(gpuLayers, [0, 1, 1]); // a second one per window would be four layers on the GPU
  assert.equal(seconds, [0, 1, 3]);
});

test('on a head with a slower GPU, reloads up to the size of the lookup are free, since it is read in any case', () => {
  // A row of 40 bytes fills the RAM; four layers of 10 on the CPU reload as much as the row. n = 4: 4 + 20 + 40 s.
  const costs = {
    ...toyRing(8, 0, [{ name: 'pc', cpuLayer: 1, gpuLayer: 5, available: 40, gpuRoom: 100, reloadRate: 1 }]),
    embeddingRowBytes: 40,
  };
  const choices: WindowTableOptions = { rounds: 1, reclaim: 'overflow', outputs: ['cpu'] };
  const best = windowSplit(costs, costs.devices[0] as DeviceCosts, choices, 8);
  assert.equal(best, { seconds: 64, gpuLayers: 4, output: 'cpu' });
});

test('layers that fill the VRAM exactly fit, and with a rounding error less they don’t', () => {
  const sizes = fc.record({
    layer: fc.double({ min: 1, max: 1e6, noNaN: true }),
    output: fc.double({ min: 0, max: 1e6, noNaN: true }),
    layers: fc.integer({ min: 1, max: 40 }),
    rounds: fc.integer({ min: 1, max: 3 }),
  });
  const property = fc.property(sizes, ({ layer, output, layers, rounds }) => {
    const gpuLayersIn = (gpuRoom: number): number => {
      const pc = { name: 'pc', cpuLayer: 2, gpuLayer: 1, available: 1e12, gpuRoom, reloadRate: 1 };
      const costs = { ...toyRing(40 * rounds, 0, [pc]), layerBytes: layer, outputBytes: output };
      const choices: WindowTableOptions = { rounds, reclaim: 'overflow', outputs: ['gpu'] };
      return windowSplit(costs, costs.devices[0] as DeviceCosts, choices, 40).gpuLayers;
    };
    const full = layers * rounds * layer + output;
    assert.is(gpuLayersIn(full), layers);
    assert.is(gpuLayersIn(full * (1 - Number.EPSILON)), layers - 1);
  });
  fc.assert(property, { numRuns: 2000, seed: 34 });
});

/** The least seconds over every n and every place of the output layer. */
function tried(costs: RingCosts, device: DeviceCosts, choices: WindowTableOptions, window: number): number {
  const { rounds } = choices;
  if (window === 0 && choices.outputs === undefined) return 0;
  let least = NEVER;
  const outputs: readonly (ProcessorKind | undefined)[] = choices.outputs ?? [undefined];
  for (const output of outputs) {
    for (let gpuLayers = 0; gpuLayers <= (device.gpu === undefined ? 0 : window); gpuLayers++) {
      const load = {
        cpuLayers: (window - gpuLayers) * rounds,
        gpuLayers: gpuLayers * rounds,
        output,
        prefetches: false,
        kvInRam: false,
      };
      const visits = window === 0 ? 0 : window * rounds === costs.layers ? 1 : rounds;
      least = Math.min(least, deviceSeconds(costs, device, load, visits, choices.reclaim));
    }
  }
  return least;
}

test('the closed form equals brute force over splits for every device, window and number of rounds', () => {
  let slowerGpus = 0;
  let entries = 0;
  const property = fc.property(randomRings(), ({ problem }) => {
    const { belief, model, workload, reclaim, runtime } = problem;
    const costs = createRingCosts(belief, model, workload, runtime);
    costs.devices.forEach((device, index) => {
      if (device.gpu !== undefined && device.gpuLayer > device.cpuLayer) slowerGpus += 1;
      const processors: ProcessorKind[] = device.gpu === undefined ? ['cpu'] : ['cpu', 'gpu'];
      for (const rounds of divisors(model.layers)) {
        const choices: WindowTableOptions = { rounds, reclaim, outputs: index === 0 ? processors : undefined };
        const found = windowSeconds(costs, device, choices);
        everyEntry(found).forEach((seconds, window) => {
          entries += 1;
          assert.is(secondsAt(found, window), seconds);
          relativelyNear(seconds, tried(costs, device, choices, window));
          if (window > 0) relativelyNear(windowSplit(costs, device, choices, window).seconds, seconds);
        });
      }
    });
  });
  fc.assert(property, { numRuns: 1500, seed: 33 });
  assert.ok(slowerGpus > 300 && entries > 10_000);
});

test('every window of many layers has the seconds of its best split', () => {
  const model = createNamedModel(loadCatalogue(), 'Llama-3-70B');
  for (const regime of ['scarce', 'enough'] as const) {
    for (let seed = 0; seed < 20; seed++) {
      const belief = randomCluster({ seed, devices: 8, regime, modelBytes: model.bytes });
      const costs = createRingCosts(belief, model, createWorkload({ context: seed % 2 === 0 ? 1024 : 65_536 }));
      costs.devices.forEach((device, index) => {
        for (const reclaim of RECLAIM_POLICIES) {
          for (const rounds of [1, 4]) {
            const choices: WindowTableOptions = { rounds, reclaim, outputs: index === 0 ? ['cpu'] : undefined };
            windowTable(costs, device, choices).forEach((seconds, window) => {
              if (window > 0) relativelyNear(seconds, windowSplit(costs, device, choices, window).seconds);
            });
          }
        }
      });
    }
  }
});

test.run();
