import { REPORTED_SHARE } from '../../datasets/testbeds.ts';
import type { Cell } from './problem.ts';
import type { Quantity } from './quantities.ts';
import type { RingUnknown } from './rings.ts';

/** A testbed of prima.cpp, the tables that were measured on it, and what the paper leaves open about it. */
export interface UnknownTestbed {
  /** Key of datasets/clusters. */
  readonly cluster: string;
  /** Numbers of the tables. */
  readonly tables: readonly string[];
  readonly unknowns: readonly RingUnknown[];
  /** Names of the two unknowns of the map. */
  readonly map: readonly [x: string, y: string];
}

/** GB in GiB: Appendix A.4 states GB. */
const GB = 1e9 / 2 ** 30;

const REPORTED =
  'Prior: what Table 3 prints / 0.8, since the program reports 80 % of MemAvailable on Linux. Range: from less than printed to what is installed without a kernel';
const NOT_REPORTED =
  'Prior: as printed, since the program takes no 0.8 on macOS, where it adds free, inactive and purgeable pages and 10 % of the active ones. Range: up to what is installed without the system';
const SMALL = 'llama.cpp’s cells of 7B to 14B, which run in VRAM or nearly so';
const LARGE = 'llama.cpp’s cells of 60B to 72B, which reload';

const ringCells = (cell: Cell): boolean => cell.system !== 'llama.cpp';
const ring = { sees: ringCells, seen: 'prima.cpp’s cells; llama.cpp doesn’t run there' } as const;
const everything = { sees: () => true, seen: 'all cells' } as const;
const large = { sees: ({ system, row }: Cell) => system === 'llama.cpp' && /6[05]B|7[02]B/.test(row), seen: LARGE };
const small = { sees: ({ system, row }: Cell) => system === 'llama.cpp' && /\b(7|8|14)B/.test(row), seen: SMALL };

/** RAM of devices, GiB; the prior is on the grid. */
function ram(
  name: string,
  devices: readonly string[],
  { printed, prior, from, to, step = 0.2 }: { printed: number; prior: number; from: number; to: number; step?: number },
  rest: Pick<RingUnknown, 'sees' | 'seen' | 'reason'>,
): RingUnknown {
  const values = grid(from, to, step, prior, printed);
  return { name, unit: 'GiB', printed, prior, values, quantity: { kind: 'ram', devices }, ...rest };
}

const VRAM_KEPT: RingUnknown = {
  name: 'VRAM with llama.cpp',
  unit: 'MiB',
  printed: undefined,
  prior: 0,
  values: grid(0, 1500, 100),
  quantity: { kind: 'vram-kept' },
  reason:
    'What CUDA’s context takes, and what is left free when layers on the GPU are set by hand; the paper says nothing. Prior: nothing. prima.cpp’s own reserve is in its source and isn’t unknown',
  ...small,
};

const KV_ROOM: RingUnknown = {
  name: 'KV room of prima.cpp',
  unit: 'tokens',
  printed: undefined,
  prior: 1024,
  values: [256, 320, 512, 768, 1024],
  quantity: { kind: 'kv-room' },
  reason:
    '-c of the documented commands is 1024, so it is scanned and not chosen. Range: from the 256 tokens that those commands decode; Table 5 leaves 330',
  sees: () => false,
  seen: 'nothing',
};

const WIFI: RingUnknown = {
  name: 'latency of Wi-Fi',
  unit: 'ms',
  printed: 5,
  prior: 5,
  values: grid(3, 7, 0.5),
  quantity: { kind: 'latency' },
  reason: 'Stated as 3 to 7 ms (4), so it is scanned and not chosen; prior: the middle',
  sees: () => false,
  seen: 'none',
};

export const UNKNOWN_TESTBEDS: readonly UnknownTestbed[] = [
  {
    cluster: 'prima-home',
    tables: ['4', '9'],
    unknowns: [
      ram('RAM of D1', ['D1'], { printed: 2.4, prior: 2.4, from: 1.6, to: 6 }, { ...ring, reason: NOT_REPORTED }),
      ram('RAM of D2', ['D2'], reported(4.1, 3, 7.2), { ...ring, reason: REPORTED }),
      ram('RAM of D3', ['D3'], reported(9.7, 8, 15.4), { ...everything, reason: REPORTED }),
      ram('RAM of D4', ['D4'], reported(1.9, 1, 6), { ...ring, reason: REPORTED }),
      VRAM_KEPT,
      KV_ROOM,
      WIFI,
    ],
    map: ['RAM of D3', 'RAM of D1'],
  },
  {
    cluster: 'prima-a4',
    tables: ['7'],
    unknowns: [
      ram('RAM of the PC', ['PC'], reported(5 * GB, 3.5, 15), { ...ring, reason: REPORTED }),
      ram(
        'RAM of the Mac mini',
        ['mac'],
        { printed: 10 * GB, prior: 10 * GB, from: 7, to: 14 },
        { ...ring, reason: NOT_REPORTED },
      ),
      ram('RAM of the laptop', ['laptop'], reported(23 * GB, 18, 31, 0.5), { ...everything, reason: REPORTED }),
      ram('RAM of the phone', ['phone'], reported(7 * GB, 4, 14, 0.5), { ...ring, reason: REPORTED }),
      diskOf('disk of the laptop', ['laptop'], undefined, 3),
      VRAM_KEPT,
      rate('CPU rates', { kind: 'cpu-rate' }, everything, 0.5, 1.5),
      rate('GPU rates', { kind: 'gpu-rate' }, small, 0.5, 1.5),
      KV_ROOM,
    ],
    map: ['disk of the laptop', 'RAM of the Mac mini'],
  },
  {
    cluster: 'prima-a5',
    tables: ['8'],
    unknowns: [
      ram(
        'RAM of the containers',
        ['container1', 'container2', 'container3', 'container4'],
        { printed: 4, prior: 8, from: 2.4, to: 8 },
        {
          ...everything,
          reason:
            'Prior: the 8 GiB of the container. There the program reports memory.max − memory.current + half of the file pages, so that a container of 8 GiB that is full of cached weights reports the 4 GiB that are printed',
        },
      ),
      VRAM_KEPT,
      rate('CPU rates', { kind: 'cpu-rate' }, everything, 0.25, 1.5),
      KV_ROOM,
    ],
    map: ['RAM of the containers', 'VRAM with llama.cpp'],
  },
  {
    cluster: 'prima-a9',
    tables: ['10'],
    unknowns: [
      ram(
        'RAM of the devices',
        ['node1', 'node2', 'node3', 'node4'],
        { printed: 8, prior: 6, from: 3, to: 8, step: 0.1 },
        { ...everything, reason: 'Printed: what is installed. Prior: 6 GiB as in datasets/clusters' },
      ),
      diskOf('disks', ['node1', 'node2', 'node3', 'node4'], 0.6, 0.6),
      rate('GPU rates', { kind: 'gpu-rate' }, small, 0.1, 1.5),
      rate('CPU rates', { kind: 'cpu-rate' }, everything, 0.5, 2),
      VRAM_KEPT,
      KV_ROOM,
    ],
    map: ['disks', 'RAM of the devices'],
  },
];

/** A Linux device's RAM: the printed GiB are a share of it. */
function reported(printed: number, from: number, to: number, step = 0.2) {
  return { printed, prior: printed / REPORTED_SHARE, from, to, step };
}

function diskOf(name: string, devices: readonly string[], printed: number | undefined, prior: number): RingUnknown {
  return {
    name,
    unit: 'GB/s',
    printed,
    prior,
    values: grid(0.4, 4, 0.1, prior),
    quantity: { kind: 'disk', devices },
    reason:
      printed === undefined
        ? 'Not stated. Prior: a disk as in Table 3'
        : 'Prior: as printed. Range: from a hard disk to a fast SSD',
    ...large,
  };
}

function rate(
  name: string,
  quantity: Quantity,
  rest: Pick<RingUnknown, 'sees' | 'seen'>,
  from: number,
  to: number,
): RingUnknown {
  return {
    name,
    unit: '× assumed',
    printed: undefined,
    prior: 1,
    values: grid(from, to, 0.05, 1),
    quantity,
    reason: 'The part isn’t named, or what a limit leaves of it isn’t stated. Prior: as assumed in datasets/clusters',
    ...rest,
  };
}

/** Values from `from` to `to`, and the `others` where they belong. */
function grid(from: number, to: number, step: number, ...others: readonly number[]): number[] {
  const regular = Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) =>
    rounded(from + index * step),
  );
  return [...new Set([...regular, ...others])].sort((one, other) => one - other);
}

/** Without the digits that adding steps leaves. */
function rounded(value: number): number {
  return Number(value.toFixed(6));
}
