import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import { passingSlots } from './expert-slots.ts';
import { type PlacedExperts, readingBytes, slotBytes } from './placed-experts.ts';

export interface ExpertRoomCase {
  readonly policy: Pick<ExpertsPolicy, 'pool' | 'eviction' | 'depth'>;
  /** Layers with experts. */
  readonly layers: readonly PlacedExperts[];
  /** Experts that a token uses in a layer. */
  readonly used: number;
  /** Bytes of memory. */
  readonly room: number;
}

/** Most slots of each cache of experts: that of a layer, or the one for all layers. */
export interface SlotRange {
  /** The fewest with which a token can be computed. */
  readonly least: number;
  /** As many as memory has room for, at most a slot for each expert; less than `least` where it has too little. */
  readonly most: number;
  /** Bytes of memory that this many slots of each cache take, with those for passing experts and for reading. */
  bytesOf(slots: number): number;
}

export function slotRange({ policy, layers, used, room }: ExpertRoomCase): SlotRange {
  const isPool = policy.pool === 'all';
  const passing = passingSlots(policy, used);
  const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
  const each = isPool ? slotBytes(layers) : sum(layers.map((one) => slotBytes([one])));
  const experts = isPool ? sum(layers.map((one) => one.experts)) : Math.min(...layers.map((one) => one.experts));
  const reading = readingBytes(layers, policy.depth);
  return {
    least: passing > 0 ? 1 : used,
    most: Math.min(Math.floor((room - reading) / each) - passing, experts),
    bytesOf: (slots) => (slots + passing) * each + reading,
  };
}
