import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { DiskReads } from '../../hardware/disk-reads.ts';
import type { Pressure } from './pressure.ts';

/**
 * A mixture whose experts don't fit, a machine and a policy, in few numbers: what both a prediction (predictExperts) and a
 * simulation (simulateExperts) start from.
 */
export interface ExpertsCase {
  readonly mixture: Mixture;
  /** Seconds of one token where all its weights are in memory. */
  readonly seconds: PassSeconds;
  /** Seconds of a whole prompt, an expert's with the tokens that chose it; missing: the prompt isn't timed. */
  readonly prompt?: PassSeconds;
  readonly memory: MixtureMemory;
  readonly disk: DiskReads;
  readonly policy: ExpertsPolicy;
  /** How often the guess of each rank is right under `next-router`, the first first; USUAL_PRECISION unless given. */
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
}

/** One memory and its claimants: slots, weights that every token uses, buffers, and file pages in what is left. */
export interface MixtureMemory {
  /** Bytes that the operating system leaves for all of them. */
  readonly available: number;
  /** Bytes of keys and values, activations and the process itself. */
  readonly buffers: number;
  /** Whether what every token uses is read into memory of its own, or mapped from the file. */
  readonly dense: 'anonymous' | 'mapped';
  /** What happens to memory of its own that exceeds `available`. */
  readonly pressure: Pressure;
  /** Bytes that the operating system reads ahead in the file (Linux's read_ahead_kb). */
  readonly readAhead: number;
  /** Bytes per second at which file pages are copied into slots. */
  readonly copyRate: number;
}

/**
 * How often guesses of the next layer's router, on this layer's state, are right, by rank from first to last of the
 * experts that it chooses: published for Kimi-K3 (waste, §34: .922 .802 .643 .533 .394 .279 at ranks 1, 4, 7, 10, 13 and 16 of
 * 16). Other models are guessed better: 73 to 89 % of all were right (GLM-5.2, Qwen3).
 */
export const USUAL_PRECISION: readonly number[] = [0.922, 0.802, 0.643, 0.533, 0.394, 0.279];

/** The precision of each rank of `used`, where it is known for some ranks, evenly spaced from first to last. */
export function precisionByRank(known: readonly number[], used: number): number[] {
  return Array.from({ length: used }, (_, rank) => {
    const at = used === 1 ? 0 : (rank * (known.length - 1)) / (used - 1);
    const [low, share] = [Math.floor(at), at % 1];
    const [one, next] = [known[low] as number, known[low + 1] ?? 0];
    return one + share * (next - one);
  });
}
