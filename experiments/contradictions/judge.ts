import type { ExpertsFinding } from '../../datasets/experts.ts';
import { mean } from '../report/mean.ts';

/** How a series goes: `turns` where the largest or least value lies between its ends. */
export type Sign = 'rises' | 'falls' | 'flat' | 'hump' | 'dip';

/** Values nearer than this are the same: a share of the value, and points of a hit rate. */
export const SAME_SHARE = 0.03;
export const SAME_POINTS = 0.02;
/** A size is right within this. */
export const SIZE_WITHIN = 0.15;

export interface Judgement {
  readonly published: string;
  readonly simulated: string;
  readonly isSignRight: boolean;
  /** The simulated effect for the published one, less 1; missing where no effect is published. */
  readonly sizeError?: number;
  readonly isSizeRight: boolean;
  /** Mean deviation of the values themselves; missing where they aren't comparable. */
  readonly levelError?: number;
}

/**
 * Judges a series against the published one by one rule for all findings. The effect of a rate is the ratio of the published
 * series' largest value to its least, taken at the same two settings in both; of shares it is their difference.
 */
export function judge(
  { judged, sign, unit }: Pick<ExpertsFinding, 'judged' | 'sign' | 'unit'>,
  published: readonly (number | undefined)[],
  simulated: readonly number[],
): Judgement {
  const known = published.filter((value) => value !== undefined);
  const isShare = unit === 'share';
  if (known.length < published.length) {
    const found = endsSign(simulated, isShare);
    return { published: sign, simulated: found, isSignRight: sign === found, isSizeRight: false };
  }
  const sizes = sizeOf(known, simulated, isShare);
  const sized = {
    ...(sizes !== undefined && { sizeError: sizes }),
    isSizeRight: sizes !== undefined && Math.abs(sizes) <= SIZE_WITHIN,
    ...(unit !== 'relative' && { levelError: levelOf(known, simulated, isShare) }),
  };
  switch (judged) {
    case 'ends':
    case 'shape': {
      const signOf = judged === 'ends' ? endsSign : shapeSign;
      const [one, other] = [signOf(known, isShare), signOf(simulated, isShare)];
      return { published: one, simulated: other, isSignRight: one === other, ...sized };
    }
    case 'floor': {
      const zeros = (values: readonly number[]): number => values.filter((value) => value < SAME_POINTS / 4).length;
      const [one, other] = [zeros(known), zeros(simulated)];
      const text = (count: number): string => (count === 0 ? 'no floor' : `floor of ${count}`);
      return { published: text(one), simulated: text(other), isSignRight: one === other, ...sized };
    }
    case 'bound': {
      const isPossible = known.every((value, index) => value <= (simulated[index] as number));
      const text = isPossible ? 'possible' : 'impossible';
      return { published: 'possible', simulated: text, isSignRight: isPossible, ...sized };
    }
    case 'level': {
      const [one, other] = [levelText(known[0] as number), levelText(simulated[0] as number)];
      return { published: one, simulated: other, isSignRight: one === other, ...sized };
    }
  }
}

/** A threshold between 0 and 1 is passed by all, by none, or by some. */
function levelText(threshold: number): string {
  if (threshold < SAME_POINTS) return 'always';
  return threshold > 1 - SAME_POINTS ? 'never' : 'above a threshold';
}

function isSame(one: number, other: number, isShare: boolean): boolean {
  return Math.abs(other - one) <= (isShare ? SAME_POINTS : SAME_SHARE * Math.max(Math.abs(one), Math.abs(other)));
}

function endsSign(values: readonly number[], isShare: boolean): Sign {
  const [first, last] = [values[0] as number, values.at(-1) as number];
  if (isSame(first, last, isShare)) return 'flat';
  return last > first ? 'rises' : 'falls';
}

function shapeSign(values: readonly number[], isShare: boolean): Sign {
  const inner = values.slice(1, -1);
  const [first, last] = [values[0] as number, values.at(-1) as number];
  const beyond = (value: number): boolean => !isSame(value, first, isShare) && !isSame(value, last, isShare);
  const [most, least] = [Math.max(...inner), Math.min(...inner)];
  if (most > Math.max(first, last) && beyond(most)) return 'hump';
  if (least < Math.min(first, last) && beyond(least)) return 'dip';
  return endsSign(values, isShare);
}

function sizeOf(published: readonly number[], simulated: readonly number[], isShare: boolean): number | undefined {
  const indexOf = (values: readonly number[], best: (...values: number[]) => number) => values.indexOf(best(...values));
  let [most, least] = [indexOf(published, Math.max), indexOf(published, Math.min)];
  // One value alone, or equal ones, are compared themselves.
  if (published.length === 1) return (simulated[0] as number) / (published[0] as number) - 1;
  if (most === least) [most, least] = [indexOf(simulated, Math.max), indexOf(simulated, Math.min)];
  const effect = (values: readonly number[]): number => {
    const [one, other] = [values[most] as number, values[least] as number];
    return isShare ? one - other : one / other;
  };
  const size = effect(simulated) / effect(published) - 1;
  return Number.isFinite(size) ? size : undefined;
}

/** Mean absolute error of the simulated values: a difference for shares, relative for other units. */
function levelOf(published: readonly number[], simulated: readonly number[], isShare: boolean): number {
  return mean(
    published.map((value, index) => {
      const off = Math.abs((simulated[index] as number) - value);
      return isShare ? off : off / value;
    }),
  );
}
