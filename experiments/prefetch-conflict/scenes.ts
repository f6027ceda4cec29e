import type { LabCell } from '../../datasets/lab/cell.ts';
import { LAB_POLICIES } from '../../datasets/lab/policies.ts';

/** One of prima.cpp's Figs. 3–5 (A.1, A.2), to be run on a lab. */
export interface RealScene {
  readonly figure: 3 | 4 | 5;
  readonly title: string;
  readonly cell: LabCell;
}

/** Index of the device whose residency is sampled. */
export const SEEN = 1;

const LAYERS = 8;
/** Disks of the other devices, bytes per second: slow enough that the fast disk of Fig. 4 is done early. */
const OTHERS_RATE = 40e6;

/** Layers that fit into memory: five of eight, or 62 %, as in the lab's other experiments; the figures state three, or none. */
const ROOM = 5;

export const REAL_SCENES: readonly RealScene[] = [
  scene(3, 'one round with prefetching', 1, 80e6),
  scene(4, 'windows of two layers, fast disk', 4, 80e6),
  scene(5, 'windows of two layers, slow disk', 4, 20e6),
];

function scene(figure: RealScene['figure'], title: string, rounds: number, rate: number): RealScene {
  return {
    figure,
    title,
    cell: {
      rounds,
      windows: [1, 2, 3, 4].map(() => LAYERS / rounds),
      policy: LAB_POLICIES.willneed,
      memoryShares: [0, 1, 2, 3].map(() => ROOM / LAYERS),
      diskRates: [0, 1, 2, 3].map((device) => (device === SEEN ? rate : OTHERS_RATE)),
    },
  };
}
