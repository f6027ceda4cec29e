import type { LabCell } from '../lab/lab-cell.ts';

/** One of prima.cpp's Figs. 3–5 (A.1, A.2) on a lab. */
export interface RealScene {
  readonly figure: 3 | 4 | 5;
  readonly title: string;
  /** Of the device that is looked at, the second: layers that fit in its memory. */
  readonly room: number;
  readonly cell: LabCell;
}

/** The device that is looked at. */
export const SEEN = 1;

const LAYERS = 8;
/** Other devices have memory for three layers, too. Their disks set the pace, so that Fig. 4's fast one is done early. */
const OTHERS_RATE = 40e6;

const scene = (figure: RealScene['figure'], title: string, rounds: number, room: number, rate: number): RealScene => ({
  figure,
  title,
  room,
  cell: {
    rounds,
    windows: [1, 2, 3, 4].map(() => LAYERS / rounds),
    prefetch: 'willneed',
    release: 'none',
    memoryShares: [0, 1, 2, 3].map(() => room / LAYERS),
    diskRates: [0, 1, 2, 3].map((device) => (device === SEEN ? rate : OTHERS_RATE)),
  },
});

/** Fig. 3 states room for three layers; Figs. 4 and 5 none: a window of two, and one layer for what the kernel keeps beside. */
export const REAL_SCENES: readonly RealScene[] = [
  scene(3, 'one round with prefetching', 1, 3, 80e6),
  scene(4, 'windows of two layers, fast disk', 4, 3, 80e6),
  scene(5, 'windows of two layers, slow disk', 4, 3, 20e6),
];
