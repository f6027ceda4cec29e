import type { ExpertsCase, Mixture } from '../../engine/cost/experts/experts-case.ts';
import { predictExperts } from '../../engine/cost/experts/predict-experts.ts';
import { PRESSURES } from '../../engine/cost/experts/pressure.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import type { KnownRouting } from '../../engine/experts/hit-rates.ts';
import type { Model } from '../../engine/model/model.ts';

/** The reader's choices. */
export interface Chosen {
  /** Bytes that the operating system leaves. */
  readonly memory: number;
  /** Bytes per second of the disk. */
  readonly disk: number;
  /** Slots of each layer, on average. */
  readonly slots: number;
  readonly pool: ExpertsPolicy['pool'];
  readonly system: 'linux' | 'macos';
}

/** Bytes per second at which the PC's processor reads weights from memory: two channels of DDR5-4800 at three quarters. */
const MEMORY_RATE = 57.6e9;
/** Keys and values, activations and the program itself, bytes. */
const BUFFERS = 0.5e9;
/** Reads that are under way at once. */
const DEPTH = 4;

/** A mixture in few numbers; its layers are alike, and an expert's three matrices lie apart in the file. */
export function mixtureOf({ layers, layer: { bytes, routed }, output }: Model): Mixture {
  const [experts] = routed;
  if (experts === undefined) throw new RangeError('a model without experts');
  return {
    ...{ layers, experts: experts.experts, used: experts.used, readsPerExpert: 3 },
    expertBytes: experts.bytes / experts.experts,
    denseBytes: layers * (bytes - experts.bytes) + output.bytes,
  };
}

/** A PC that runs the mixture as the reader has chosen. */
export function caseOf(mixture: Mixture, { memory, disk, slots, pool, system }: Chosen): ExpertsCase {
  const { layers, expertBytes, denseBytes } = mixture;
  return {
    mixture,
    seconds: {
      layer: (0.8 * denseBytes) / layers / MEMORY_RATE,
      expert: expertBytes / MEMORY_RATE,
      other: (0.2 * denseBytes) / MEMORY_RATE,
    },
    memory: {
      ...{ available: memory, buffers: BUFFERS, dense: 'anonymous', pressure: PRESSURES[system] },
      ...{ readAhead: 2 ** 17, copyRate: MEMORY_RATE / 4 },
    },
    disk: { latency: 80e-6, bandwidth: disk },
    policy: {
      ...{ slots: pool === 'all' ? Math.round(slots * layers) : Math.round(slots), pool, eviction: 'lru' },
      ...{ method: 'direct', layout: 'file', depth: DEPTH, lookahead: { kind: 'none' }, hitsFirst: true },
    },
  };
}

/** A point of a curve. */
export interface SpeedPoint {
  readonly pool: ExpertsPolicy['pool'];
  /** Bytes of all slots. */
  readonly bytes: number;
  /** 0 where it doesn't run. */
  readonly tokensPerSecond: number;
}

/** Tokens per second for all numbers of slots, with a cache for each layer and with one for all of them. */
export function speeds(mixture: Mixture, known: KnownRouting, chosen: Chosen): SpeedPoint[] {
  const { experts, layers, expertBytes } = mixture;
  const counts = Array.from({ length: POINTS }, (_, index) => ((index + 1) * experts) / POINTS);
  return (['layer', 'all'] as const).flatMap((pool) =>
    counts.map((slots) => {
      const { tokenSeconds, shortage } = predictExperts(caseOf(mixture, { ...chosen, pool, slots }), known);
      const bytes = slots * layers * expertBytes;
      return { pool, bytes, tokensPerSecond: shortage === undefined ? 1 / tokenSeconds : 0 };
    }),
  );
}

/** Points of a curve: every fourth of a token's experts of today's mixtures. */
const POINTS = 64;
