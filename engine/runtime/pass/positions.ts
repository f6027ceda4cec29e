import { ropeAngles } from '../../kernels/rope-angles.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { PositionVectors } from './activations.ts';
import type { Rotations } from './rotations.ts';

/** Tokens of a pass, from its token `first` on, of which the first is at `position` of its text. */
export interface PlacedTokens {
  readonly first: number;
  readonly count: number;
  readonly position: number;
}

/** Writes what depends on the positions of some tokens of a pass. */
export function writePositions(
  { byName, temperature }: Rotations,
  { angles, queryDivisors }: PositionVectors,
  { first, count, position }: PlacedTokens,
): void {
  for (const [name, rotation] of byName) {
    const { dimensions } = rotation;
    ropeAngles(
      rotation,
      position,
      (angles[name] as Vector).values.subarray(first * dimensions, (first + count) * dimensions),
    );
  }
  if (temperature === undefined || queryDivisors === undefined) return;
  const { scale, context } = temperature;
  for (let token = 0; token < count; token++)
    queryDivisors.values[first + token] = 1 / (1 + scale * Math.log(Math.floor((position + token) / context) + 1));
}

/** The vectors that it writes. */
export function positionVectors({ angles, queryDivisors }: PositionVectors): readonly Vector[] {
  return [...Object.values(angles), ...(queryDivisors === undefined ? [] : [queryDivisors])];
}
