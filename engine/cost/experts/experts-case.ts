import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { PassTokens } from '../../experts/routing.ts';
import type { DiskReads } from '../../hardware/disk-reads.ts';
import type { PageRates } from '../reclaim.ts';
import type { Pressure } from './pressure.ts';

/**
 * A mixture whose experts don't fit, a machine and a policy, in few numbers: what both a prediction (predictExperts) and a
 * simulation (simulateExperts) start from.
 */
export interface ExpertsCase {
  readonly mixture: Mixture;
  /** Tokens that a pass decodes together, which share the experts that any of them uses; one token of one text unless given. */
  readonly pass?: PassTokens | undefined;
  /** Seconds of such a pass where all its weights are in memory. */
  readonly seconds: PassSeconds;
  /** Seconds of a whole prompt, an expert's with the tokens that chose it; missing: the prompt isn't timed. */
  readonly prompt?: PassSeconds;
  readonly memory: MixtureMemory;
  readonly disk: DiskReads;
  readonly policy: ExpertsPolicy;
  /** How often the guess of each rank is right under `next-router` (createGuesser); USUAL_PRECISION unless given. */
  readonly precision?: readonly number[];
}

/** A mixture's weights on one machine. Its layers are alike. */
export interface Mixture {
  /** Layers with experts. */
  readonly layers: number;
  /** N: experts of a layer. */
  readonly experts: number;
  /** k: experts that a token uses in a layer. */
  readonly used: number;
  /** Bytes of one expert. */
  readonly expertBytes: number;
  /** Reads that bring an expert, of equal size: 3 where its matrices lie apart in the file, 1 where they lie together. */
  readonly readsPerExpert: number;
  /** Bytes of all that every token uses: attention, routers, shared experts, the output. */
  readonly denseBytes: number;
}

/** Seconds of a pass where all weights are in memory. */
export interface PassSeconds {
  /** Each layer with experts, up to the choice of its router; its shared experts count here. */
  readonly layer: number;
  /** Each expert that is used. */
  readonly expert: number;
  /** All other layers and the output, once a pass. */
  readonly other: number;
  /** Each time that experts were awaited, in addition: threads wake, with caches that others have used; missing: none. */
  readonly resume?: number | undefined;
}

/** One memory and its claimants: slots, weights that every token uses, buffers, and file pages in what is left. */
export interface MixtureMemory {
  /** Bytes that the operating system leaves for all of them. */
  readonly available: number;
  /** Bytes of keys and values, activations and the process itself. */
  readonly buffers: number;
  /** Whether what every token uses is read into memory of its own, or mapped from the file. */
  readonly dense: 'anonymous' | 'mapped';
  /** The operating system's treatment of the process's own memory in excess of `available`. */
  readonly pressure: Pressure;
  /**
   * Bytes that the operating system reads ahead of what experts are asked for (Linux's read_ahead_kb), or `exact`: what is asked
   * for alone, in one go, as the engine does (MADV_WILLNEED, POSIX_FADV_RANDOM).
   */
  readonly readAhead: number | 'exact';
  /** How the operating system chooses file pages to give back: the least recently used (default), or by Linux's two lists. */
  readonly reclaim?: 'lru' | 'two-lists' | undefined;
  /** The operating system's own work on pages of its cache; missing: it takes no time. */
  readonly pageRates?: PageRates | undefined;
  /** Bytes per second at which file pages are copied into slots. */
  readonly copyRate: number;
}
