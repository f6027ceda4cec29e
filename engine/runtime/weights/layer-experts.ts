import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { MultiplyExpertsOperation } from '../../kernels/expert-operations.ts';

/** Experts of a layer that are brought into memory when its tokens have chosen them, and where they are multiplied. */
export interface LayerExperts {
  /** Experts that can be in memory together. */
  readonly atOnce: number;
  /** Needs different experts, at most `atOnce`; what isn't in memory is read. */
  need(experts: readonly number[]): NeededExperts;
  /** Reads different experts ahead of their need, as far as others may leave for them. */
  bring(experts: readonly number[]): void;
  /** The matrix, bias and scales with which an operation multiplies what is needed; `undefined` for one of other weights. */
  placed(operation: MultiplyExpertsOperation): PlacedMatrix | undefined;
}

export type PlacedMatrix = Pick<MultiplyExpertsOperation, 'matrix' | 'bias' | 'scales' | 'experts'>;

/** Experts that were needed last. */
export interface NeededExperts {
  /** The number of an expert in the placed matrices. */
  placeOf(expert: number): number;
  /** Experts that are in memory already. */
  readonly ready: readonly number[];
  /** Waits until more of them are in memory. @returns those; none once all are */
  next(): readonly number[];
}

/** An access to a layer's experts, layers being numbered among those that have experts. */
export interface ExpertAccess {
  readonly layer: number;
  readonly kind: 'need' | 'bring';
  readonly experts: readonly number[];
  /** The experts among them that are read. */
  readonly read: readonly number[];
}

/** Called with each access to an expert. */
export type AccessObserver = (access: ExpertAccess) => void;

/** The same while it is counted. */
export type ExpertCounts = { -readonly [count in keyof ExpertReads]: number };

export function noReads(): ExpertCounts {
  return { needs: 0, reads: 0, ahead: 0, wrong: 0, bytes: 0, waited: 0 };
}
