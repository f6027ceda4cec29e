import { type RandomStream, randomStream } from '../../../engine/input/random-stream.ts';
import type { Mix } from '../../../engine/model/mix.ts';

/** Layers and experts of the models that plans are drawn for. */
export const LAYERS = 6;
export const EXPERTS = 8;
/** Kinds of plans, each as often as any other. */
export const DRAWN_KINDS = [
  'CPU, some weights read',
  'mixture, cached experts',
  'ring of CPUs',
  'tensor parallel',
  'expert parallel',
  'CPU and GPU',
  'streamed to a GPU',
  'KV cache on the host',
  'chip',
  'ring with a chip',
] as const;
export type DrawnKind = (typeof DRAWN_KINDS)[number];

/** A plan without what is computed from facts, and how it is asked about. */
export interface DrawnPlan {
  readonly kind: DrawnKind;
  readonly mix: Mix;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** The first layer of the plan's second part. */
  readonly cut: number;
  /** Share of the head, of weights that stay in memory, or of experts that have a slot. */
  readonly share: number;
  readonly rounds: 1 | 2;
  readonly way: 'ahead' | 'in-turn';
  readonly allReduce: 'exchange' | 'star';
}

/** Plans of all kinds in turn. The same seed gives the same ones. */
export function drawPlans(seed: number, count: number): DrawnPlan[] {
  return Array.from({ length: count }, (_, index) => {
    const random = randomStream(seed, `plan ${index}`);
    return drawn(DRAWN_KINDS[index % DRAWN_KINDS.length] as DrawnKind, random);
  });
}

function drawn(kind: DrawnKind, random: RandomStream): DrawnPlan {
  const isLong = kind === 'KV cache on the host';
  return {
    kind,
    mix: random.pick(['Q8_0', 'Q4_K_M', 'F16']),
    // More than a page of the KV cache where it is in RAM.
    promptTokens: isLong ? random.integer(520, 600) : random.pick([32, 64, 96]),
    outputTokens: random.integer(12, 24),
    cut: random.integer(1, LAYERS - 1),
    share: random.uniform(0.3, 0.7),
    rounds: random.pick([1, 2]),
    way: random.pick(['ahead', 'in-turn']),
    allReduce: random.pick(['exchange', 'star']),
  };
}
