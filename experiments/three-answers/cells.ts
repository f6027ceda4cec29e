import { createModel } from '../../engine/model/model.ts';
import type { LabCell } from '../lab/cell.ts';
import { type EqualCell, equalCell } from '../lab/equal-cell.ts';
import { LAB_SHAPES } from '../lab/model.ts';
import { LAB_POLICY_NAMES, type LabPolicy } from '../lab/policies.ts';

const MB = 1e6;

/** Layers for which the rates below are meant, bytes: 69 MB. Disks of smaller ones are slower alike. */
const LAYER_BYTES = createModel(LAB_SHAPES.medium, 'F16').layer.bytes;

/**
 * A cell of every policy and number of rounds, and each of the other things changed alone: minutes.
 * @param layerBytes of the model: windows take as long as those of 69 MB layers on disks of 200 to 800 MB/s
 */
export function quickCells(layerBytes: number): LabCell[] {
  const rateOf = (rate: number): number => (rate * MB * layerBytes) / LAYER_BYTES;
  const cells = (policy: LabPolicy, list: readonly (readonly [rounds: number, share: number, rate: number])[]) =>
    list.map(([rounds, memoryShare, rate]) => equalCell({ policy, rounds, memoryShare, diskRate: rateOf(rate) }));
  const unequal = [3, 2, 2, 1];
  return [
    ...cells('none', [
      [1, 0.62, 800],
      [4, 0.62, 400],
      [2, 1.1, 400],
    ]),
    ...cells('willneed', [
      [1, 0.62, 800],
      [2, 0.62, 400],
      [4, 0.62, 400],
    ]),
    ...cells('populate', [
      [2, 0.62, 400],
      [4, 0.62, 400],
    ]),
    ...cells('drop', [
      [2, 0.62, 400],
      [4, 0.62, 400],
    ]),
    ...cells('pinned', [
      [2, 0.62, 400],
      [4, 0.62, 400],
      [4, 0.45, 400],
      [4, 0.9, 400],
      [4, 0.62, 200],
      [8, 0.62, 200],
    ]),
    equalCell({ policy: 'pinned', rounds: 4, memoryShare: 0.62, diskRate: rateOf(400), windows: unequal }),
  ];
}

const SHARES = [0.45, 0.62, 0.8, 0.95, 1.1];
const RATES = [200, 500, 1000, 2000];
/** By rounds; those that add up to 32 layers. */
const WINDOWS: Readonly<Record<number, readonly (readonly number[] | undefined)[]>> = {
  1: [undefined, [11, 8, 8, 5]],
  2: [undefined, [6, 4, 4, 2]],
  4: [undefined, [3, 2, 2, 1]],
  8: [undefined],
};
/** The machine itself pages out what is idle for 20 s. */
const MOST_SECONDS = 18;
/** The throttle's burst, in seconds of its rate, and how often the smallest window must have that. */
const BURST_SECONDS = 0.1;
const BURSTS_IN_WINDOW = 3;
/** What four devices get out of this kind of disk at once, and prefetch at the same time. */
const SHARED_RATE = 2000 * MB;

/**
 * Every combination that says something: tokens are short enough, and no window is so small that the throttle's bursts
 * decide.
 * @param layerBytes of the model
 */
export function allCells(layerBytes: number): LabCell[] {
  const rateOf = (rate: number): number => (rate * MB * layerBytes) / LAYER_BYTES;
  // A call for a whole window is no prefetching (versus-prima.ts).
  const policies = LAB_POLICY_NAMES.filter((policy) => policy !== 'willneed-whole');
  const all = policies.flatMap((policy) =>
    [1, 2, 4, 8].flatMap((rounds) =>
      (WINDOWS[rounds] ?? []).flatMap((windows) =>
        SHARES.flatMap((memoryShare) =>
          RATES.map(rateOf).map(
            (diskRate): EqualCell => ({ policy, rounds, memoryShare, diskRate, ...(windows && { windows }) }),
          ),
        ),
      ),
    ),
  );
  return all.map(equalCell).filter((cell) => isHonest(cell, layerBytes));
}

function isHonest({ rounds, windows, prefetch, memoryShares, diskRates }: LabCell, layerBytes: number): boolean {
  // Populating runs without readahead. A window that doesn't fit pushes itself out, and then comes page by page: minutes.
  const fits = Math.min(...memoryShares) > 1 / rounds;
  if (prefetch === 'populate' && !fits) return false;
  const rate = Math.max(...diskRates);
  const smallest = Math.min(...windows) * layerBytes;
  const token = windows.reduce((sum, layers) => sum + layers, 0) * rounds * layerBytes;
  const twice = prefetch !== 'none' && rounds === 1 ? 2 : 1;
  // Devices that prefetch read at the same time; without, only one does.
  const together = prefetch === 'none' ? rate : rate * windows.length;
  return (
    smallest > BURSTS_IN_WINDOW * BURST_SECONDS * rate &&
    (twice * token) / rate < MOST_SECONDS &&
    together <= SHARED_RATE
  );
}
