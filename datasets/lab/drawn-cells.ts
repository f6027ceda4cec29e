import { type RandomStream, randomStream } from '../../engine/input/random-stream.ts';
import type { WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import type { LabCell } from './cell.ts';
import { BURST_SECONDS, BURSTS_IN_WINDOW, canBeJudged, SHARED_RATE } from './judged-cells.ts';
import { LAB_POLICIES } from './policies.ts';

/** Inputs on which drawn cells depend. */
export interface DrawnCells {
  /** The number of cells. */
  readonly count: number;
  readonly seed: number;
  /** Bytes of the model's layer. */
  readonly layerBytes: number;
  /** Size of the layer for which disks' rates are stated; smaller layers get disks that are slower in proportion. */
  readonly standardLayerBytes: number;
}

const DEVICES = 4;
const LAYERS = 32;
/** Kinds of policies, drawn in turn so that each is drawn equally often. */
const KINDS = ['none', 'willneed', 'populate', 'drop', 'pinned'] as const;
const ROUNDS = [1, 2, 4, 8] as const;
/** Memory for weights, as a share of a device's weights. */
const SHARES = { least: 0.4, most: 1.15 };
/**
 * Rates of disks for layers of the standard size, MB/s: preferred numbers (ISO 3, R10), so that few throttles have to be
 * probed.
 */
const RATES = [63, 80, 100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600].map((rate) => rate * 1e6);
/** A disk has one of this many rates: the highest at which its window exceeds the throttle's bursts, and those below. */
const RATES_OF_WINDOW = 7;
/** More attempts than any seed needs: a drawn cell can be judged in about one case of four. */
const ATTEMPTS = 1000;

/**
 * Cells with rounds, windows, memories and disks drawn at random, all of them different on every device: rounds from 1, 2,
 * 4 and 8, windows from all ways to divide the layers, memories uniformly, disks from rates in equal steps of their
 * logarithm. Cells that can't be judged are drawn again. A longer list begins with the cells of a shorter one.
 */
export function drawnCells({ count, seed, layerBytes, standardLayerBytes }: DrawnCells): LabCell[] {
  return Array.from({ length: count }, (_, index) => {
    const stream = randomStream(seed, `cell ${index}`);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const cell = drawnCell(stream, KINDS[index % KINDS.length] as (typeof KINDS)[number], standardLayerBytes);
      const diskRates = cell.diskRates.map((rate) => Math.round((rate * layerBytes) / standardLayerBytes));
      const scaled = { ...cell, diskRates };
      const sharedRate = (SHARED_RATE * layerBytes) / standardLayerBytes;
      if (canBeJudged(scaled, { layerBytes, sharedRate })) return scaled;
    }
    throw new RangeError(`no cell of ${ATTEMPTS} drawn with seed ${seed} can be judged`);
  });
}

function drawnCell(stream: RandomStream, kind: (typeof KINDS)[number], layerBytes: number): LabCell {
  const rounds = stream.pick(ROUNDS);
  const windows = parts(stream, LAYERS / rounds, DEVICES);
  const named: WeightsPolicy = LAB_POLICIES[kind];
  return {
    rounds,
    windows,
    // With one round, memory can't hold the unpinned rest of the only window while other devices compute.
    policy: named.release === 'pinned' && rounds === 1 ? { ...named, prefetch: 'none' } : named,
    memoryShares: windows.map(() => stream.uniform(SHARES.least, SHARES.most)),
    diskRates: windows.map((layers) => {
      const most = (layers * layerBytes) / (BURSTS_IN_WINDOW * BURST_SECONDS);
      return stream.pick(RATES.filter((rate) => rate <= most).slice(-RATES_OF_WINDOW));
    }),
  };
}

/** A whole number divided into `count` whole numbers from 1 on; all ways are equally likely. */
function parts(stream: RandomStream, total: number, count: number): number[] {
  const cuts = new Set<number>();
  while (cuts.size < count - 1) cuts.add(stream.integer(1, total - 1));
  const ends = [0, ...[...cuts].sort((one, other) => one - other), total];
  return ends.slice(1).map((end, index) => end - (ends[index] as number));
}
