import { InputError } from '../../engine/input/input-error.ts';
import { parseJson } from '../../engine/input/parse-json.ts';
import { type Fields, readFields } from '../../engine/input/read-fields.ts';
import { USES, type Use } from './scan-file.ts';

/** Mark of the files that `hearth lab --scan` writes. */
export const PAGE_SCAN = 'hearth-page-scan';

/** Facts about a machine whose page cache was measured, and how far its kernel reads ahead where it says so. */
export interface SystemFacts {
  /** Node.js's name: linux, android, darwin, win32. */
  readonly platform: string;
  readonly release: string;
  readonly architecture: string;
  readonly processor: string;
  /** Bytes. */
  readonly total: number;
  readonly available: number;
  /** The rule behind `available`, for people. */
  readonly rule: string;
  /** A Linux kernel's lists, and bytes that its disk reads ahead. */
  readonly reclaim?: string | undefined;
  readonly readAhead?: number | undefined;
}

/** One scan of a file: every extent was used once, in order. */
export interface Scan {
  readonly seconds: number;
  /** Share of the file that came from the disk; missing where nothing told. */
  readonly read?: number | undefined;
  readonly extentSeconds?: readonly number[];
}

export const JUDGES = ['mincore', 'io', 'seconds', 'none'] as const;

/** Findings from a file of one size, scanned again and again. */
export interface ScannedSize {
  /** Size of the file, as a share of the memory. */
  readonly share: number;
  readonly bytes: number;
  /** Memory that was available just before, bytes. */
  readonly available: number;
  /**
   * How `read` was judged: pages that came (mincore), bytes that the process had read (/proc/self/io), times of the
   * extents, or not at all, since all took about as long.
   */
  readonly judgedBy: (typeof JUDGES)[number];
  readonly scans: readonly Scan[];
}

/** A size that wasn't scanned. */
export interface LeftOut {
  readonly share: number;
  readonly reason: string;
}

/** A file of `hearth lab --scan`: what a system kept of scanned files. */
export interface PageScanRecord {
  readonly format: typeof PAGE_SCAN;
  readonly date: string;
  readonly system: SystemFacts;
  readonly settings: {
    readonly by: Use;
    /** Bytes of which sizes are shares. */
    readonly memory: number;
    readonly scans: number;
    readonly extents: number;
    readonly seed: number;
    readonly seconds: number;
  };
  readonly sizes: readonly ScannedSize[];
  readonly leftOut: readonly LeftOut[];
}

/** The parts of a record that simulations need. */
export type ComparedRecord = Pick<PageScanRecord, 'system' | 'sizes'> & {
  readonly settings: Pick<PageScanRecord['settings'], 'by' | 'memory'>;
};

/** @param file name for messages @throws InputError with file and place of what is missing or wrong */
export function parsePageScan(text: string, file: string): ComparedRecord {
  const fields = readFields(parseJson(text, file), file, '', () => {});
  if (fields.optionalText('format') !== PAGE_SCAN)
    throw new InputError(file, `is no file of hearth lab --scan: its "format" is not "${PAGE_SCAN}"`);
  const system = fields.object('system');
  const settings = fields.object('settings');
  return {
    system: {
      platform: system.text('platform'),
      release: system.text('release'),
      architecture: system.text('architecture'),
      processor: system.text('processor'),
      total: system.amount('total'),
      available: system.amount('available'),
      rule: system.text('rule'),
      reclaim: system.optionalText('reclaim'),
      readAhead: system.optionalAmount('readAhead'),
    },
    settings: { by: settings.oneOf('by', USES), memory: settings.amount('memory') },
    sizes: fields.list('sizes').map(sizeOf),
  };
}

function sizeOf(fields: Fields): ScannedSize {
  return {
    share: fields.amount('share'),
    bytes: fields.amount('bytes'),
    available: fields.amount('available'),
    judgedBy: fields.oneOf('judgedBy', JUDGES),
    scans: fields.list('scans').map((scan) => ({ seconds: scan.amount('seconds'), read: scan.optionalAmount('read') })),
  };
}
