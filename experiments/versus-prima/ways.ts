import { type EqualCell, equalCell, type LabCell } from '../../datasets/lab/cell.ts';
import type { MeasuredRun } from '../../datasets/measured.ts';

/** How a program handles weights that don't fit into memory. */
export interface Way {
  readonly name: string;
  /** The program that it represents. */
  readonly of: 'llama.cpp' | 'prima.cpp' | 'Hearth';
  readonly cell: LabCell;
  /** Seconds per token of a C prototype: 1074 MB of weights per device, 62 % of them in memory, disks of 400 MB/s; `undefined` if it wasn't run. */
  readonly prototypeSeconds: number | undefined;
  /** How the program itself was run in this setting; `undefined` if it wasn't. */
  readonly program?: Pick<MeasuredRun, 'prefetch' | 'rounds'>;
}

/** Setting that all ways have in common. */
export type Setting = Pick<EqualCell, 'memoryShare' | 'diskRate'>;

/** The setting of the prototype: 640 MiB for 1074 MB of weights. */
export const PROTOTYPE: Setting = { memoryShare: 0.62, diskRate: 400e6 };

/**
 * The ways that Hearth emulates, each with the number of rounds at which its prototype was fastest, and prima.cpp's also
 * where its program was; the last one pins.
 */
export function waysOf(setting: Setting): Way[] {
  return [
    {
      name: 'one mmap, no prefetch (k = 1)',
      of: 'llama.cpp',
      cell: equalCell({ ...setting, policy: 'none', rounds: 1 }),
      prototypeSeconds: 10.56,
      program: { prefetch: 'none', rounds: 1 },
    },
    {
      name: 'one willneed for a window (k = 4)',
      of: 'prima.cpp',
      cell: equalCell({ ...setting, policy: 'willneed-whole', rounds: 4 }),
      prototypeSeconds: 10.1,
      program: { prefetch: 'willneed-whole', rounds: 4 },
    },
    {
      name: 'one willneed for a window (k = 8)',
      of: 'prima.cpp',
      cell: equalCell({ ...setting, policy: 'willneed-whole', rounds: 8 }),
      prototypeSeconds: undefined,
      program: { prefetch: 'willneed-whole', rounds: 8 },
    },
    {
      name: 'all of a window, as by --force (k = 4)',
      of: 'prima.cpp',
      cell: equalCell({ ...setting, policy: 'willneed', rounds: 4 }),
      prototypeSeconds: 3.48,
      program: { prefetch: 'touched', rounds: 4 },
    },
    {
      name: 'prefix pinned, rest populated (k = 8)',
      of: 'Hearth',
      cell: equalCell({ ...setting, policy: 'pinned', rounds: 8 }),
      prototypeSeconds: 1.25,
    },
  ];
}
