import type { LabCell } from '../lab/cell.ts';

/** One of prima.cpp's Figs. 3–5 (A.1, A.2) on a lab. */
export interface RealScene {
  readonly figure: 3 | 4 | 5;
  readonly title: string;
  readonly cell: LabCell;
}

/** The device that is looked at. */
export const SEEN = 1;

const LAYERS = 8;
/** Other devices have as much memory. Their disks set the pace, so that Fig. 4's fast one is done early. */
const OTHERS_RATE = 40e6;

/** The figures state room for three layers, or none. Here it is five of eight, as in the lab's other experiments: 62 %. */
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
      prefetch: 'willneed',
      release: 'none',
      memoryShares: [0, 1, 2, 3].map(() => ROOM / LAYERS),
      diskRates: [0, 1, 2, 3].map((device) => (device === SEEN ? rate : OTHERS_RATE)),
    },
  };
}
