import fc from 'fast-check';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import type { WindowSize } from '../../engine/plan/ring-plan.ts';
import { divisors } from '../../engine/schedule/scheduler.ts';
import { type RandomRing, randomRings } from './random-ring.ts';

export interface RandomPlan extends RandomRing {
  readonly rounds: number;
  /** A window for every device, some without layers. */
  readonly windows: readonly WindowSize[];
  readonly outputProcessor: ProcessorKind;
}

/** Any plan of a ring: each layer of a round is on a random device and processor. */
export function randomPlans(): fc.Arbitrary<RandomPlan> {
  return randomRings().chain((ring) => {
    const { belief, model } = ring.problem;
    const { devices } = belief;
    return fc.constantFrom(...divisors(model.layers)).chain((rounds) => {
      const total = model.layers / rounds;
      const place = fc.record({ device: fc.nat({ max: devices.length - 1 }), onGpu: fc.boolean() });
      return fc
        .record({ places: fc.array(place, { minLength: total, maxLength: total }), outputOnGpu: fc.boolean() })
        .map(({ places, outputOnGpu }) => ({
          ...ring,
          rounds,
          windows: devices.map(({ name, gpu }, index) => {
            const own = places.filter(({ device }) => device === index);
            const onGpu = gpu === undefined ? 0 : own.filter((layer) => layer.onGpu).length;
            return { device: name, layers: own.length, gpuLayers: onGpu };
          }),
          outputProcessor: outputOnGpu && devices[0]?.gpu !== undefined ? 'gpu' : 'cpu',
        }));
    });
  });
}
