import { createModel } from '../../engine/model/model.ts';
import { type EqualCell, equalCell, type LabCell } from './cell.ts';
import { canBeJudged, SHARED_RATE } from './judged-cells.ts';
import { LAB_POLICY_NAMES, type LabPolicy } from './policies.ts';
import { LAB_SHAPES } from './shapes.ts';

const MB = 1e6;

/** Size of the layers for which the rates below are stated: 69 MB. Smaller layers get disks that are slower in proportion. */
export const LAYER_BYTES = createModel(LAB_SHAPES.medium, 'F16').layer.bytes;

/**
 * A few cells of every policy, with rounds, memory, disk and windows varied one at a time; they run in minutes.
 * @param layerBytes bytes of the model's layer: reading one takes as long as 69 MB on disks of 200 to 800 MB/s
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
/** Windows by number of rounds; all add up to 32 layers, `undefined` are equal ones. */
const WINDOWS: Readonly<Record<number, readonly (readonly number[] | undefined)[]>> = {
  1: [undefined, [11, 8, 8, 5]],
  2: [undefined, [6, 4, 4, 2]],
  4: [undefined, [3, 2, 2, 1]],
  8: [undefined],
};
/**
 * Every combination that can be judged: tokens are short enough, and no window is so small that the throttle's bursts
 * determine its time.
 * @param layerBytes bytes of the model's layer
 */
export function allCells(layerBytes: number): LabCell[] {
  const rateOf = (rate: number): number => (rate * MB * layerBytes) / LAYER_BYTES;
  // One call for a whole window prefetches next to nothing (versus-prima.ts).
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
  return all.map(equalCell).filter((cell) => canBeJudged(cell, { layerBytes, sharedRate: SHARED_RATE }));
}
