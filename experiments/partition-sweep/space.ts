import { gpuLayerRoom } from '../../engine/cost/memory.ts';
import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { type PolicyName, withPolicy } from './policies.ts';
import { createSplits, type GpuLevels, type Split } from './splits.ts';

/** A plan of the space, by its numbers. */
export interface SpacePoint extends Split {
  readonly rounds: number;
  /** Processor of the head's output layer. */
  readonly output: ProcessorKind;
  readonly policy: PolicyName;
}

/** Every plan that a sweep may simulate, numbered from 0: rounds, output, windows with GPU layers, policies. */
export interface Space {
  readonly size: number;
  /** Plans by rounds. */
  readonly sizes: readonly { readonly rounds: number; readonly size: number }[];
  /** @throws RangeError outside 0 … size − 1 */
  at(number: number): SpacePoint;
}

export interface SpaceParts {
  readonly costs: RingCosts;
  /** k, ascending; each divides the layers. */
  readonly rounds: readonly number[];
  readonly step: number;
  readonly gpuLevels: GpuLevels;
  readonly outputs: readonly ProcessorKind[];
  readonly policies: readonly PolicyName[];
}

/**
 * The space of a ring's plans.
 * @throws InputError if it has more plans than can be numbered
 */
export function createSpace({ costs, rounds, step, gpuLevels, outputs, policies }: SpaceParts): Space {
  const parts = rounds.flatMap((k) =>
    outputs.map((output) => {
      const rooms = costs.devices.map((device, index) =>
        gpuLayerRoom(costs, device, index === 0 ? output : undefined, k),
      );
      const splits = createSplits({ rounds: k, layers: costs.layers, step, rooms, gpuLevels });
      return { rounds: k, output, splits, size: splits.size * policies.length };
    }),
  );
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  if (size > Number.MAX_SAFE_INTEGER)
    throw new InputError(
      '--step',
      `the space has ${size.toPrecision(2)} plans; give a larger step or fewer GPU levels`,
    );
  return {
    size,
    sizes: rounds.map((k) => ({
      rounds: k,
      size: parts.reduce((sum, part) => sum + (part.rounds === k ? part.size : 0), 0),
    })),
    at(number) {
      let rest = number;
      for (const { rounds, output, splits, size } of parts) {
        if (rest < size) {
          const policy = policies[rest % policies.length] as PolicyName;
          return { rounds, output, policy, ...splits.at(Math.floor(rest / policies.length)) };
        }
        rest -= size;
      }
      throw new RangeError(`there is no plan ${number}; the last of ${size} is ${size - 1}`);
    },
  };
}

/**
 * Numbers of the plans to simulate, ascending: all of `size`, or `most` of them drawn at random without replacement
 * (Floyd's algorithm: R. W. Floyd, J. Bentley, CACM 30(9), 1987), the same for the same seed.
 */
export function sampleNumbers(size: number, most: number, seed: number): Float64Array {
  if (size <= most) return Float64Array.from({ length: size }, (_, index) => index);
  const { next } = randomStream(seed, 'plans');
  // Two draws of 32 bits: one reaches only the first 2³² plans.
  const below = (bound: number): number => Math.floor(((Math.floor(next() * 2 ** 21) + next()) / 2 ** 21) * bound);
  const drawn = new Set<number>();
  for (let bound = size - most; bound < size; bound++) {
    const number = below(bound + 1);
    drawn.add(drawn.has(number) ? bound : number);
  }
  return Float64Array.from(drawn).sort();
}

/** The plan behind a point of the space. */
export function pointPlan(costs: RingCosts, { rounds, output, windows, gpuLayers, policy }: SpacePoint): Plan {
  const shares = costs.devices.map(({ name }, index) => ({
    device: name,
    layers: windows[index] as number,
    gpuLayers: gpuLayers[index] as number,
  }));
  const head = costs.devices[0]?.name ?? '';
  const plan = ringPlan({ scheduler: 'hand', head, rounds, windows: shares, outputProcessor: output });
  return withPolicy(plan, costs, policy);
}
