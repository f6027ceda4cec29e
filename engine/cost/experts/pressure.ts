import type { OperatingSystem } from '../../hardware/device.ts';
import { type DiskReads, readSeconds } from '../../hardware/disk-reads.ts';

/**
 * An operating system's treatment of a process's own memory (slots, buffers, weights that were read into it) that
 * exceeds what is available:
 * - `kept`: nothing. File pages give way to the last one; after that the process is ended. Linux without swap or with
 *   memory.swap.max 0; Android, whose zram gains nothing from weights.
 * - `swapped`: what was used least recently is written to the disk and read back when it is used, `clusterBytes` at a time.
 *   Weights that every token uses are recent, so that slots go first, and among them those of hits that come seldom and
 *   of the next victims. A slot that takes another expert is read back too before it is overwritten.
 */
export type Pressure =
  | { readonly kind: 'kept' }
  | {
      readonly kind: 'swapped';
      readonly clusterBytes: number;
      /** Bytes per second at which pages pass a compressor on their way; missing: there is none. */
      readonly compressRate?: number;
    };

/**
 * By operating system. Linux reads 8 pages of swap at once (vm.page-cluster 3). macOS compresses first, which gains nothing
 * with quantized weights, and swaps segments of 256 KiB (C_SEG_BUFSIZE); its compressor's rate of 2 GB/s is assumed.
 * Windows reads its page file by 64 KiB (assumed).
 */
export const PRESSURES: Readonly<Record<OperatingSystem, Pressure>> = {
  linux: { kind: 'kept' },
  android: { kind: 'kept' },
  macos: { kind: 'swapped', clusterBytes: 2 ** 18, compressRate: 2e9 },
  windows: { kind: 'swapped', clusterBytes: 2 ** 16 },
};

/** Linux with swap. */
export const LINUX_SWAP: Pressure = { kind: 'swapped', clusterBytes: 8 * 4096 };

/** Seconds until this many bytes have come from swap, as many others having gone there. Assumed: writes are as fast as reads. */
export function swapSeconds(pressure: Pressure, disk: DiskReads, bytes: number): number {
  if (pressure.kind === 'kept' || bytes === 0) return 0;
  const { clusterBytes, compressRate = Number.POSITIVE_INFINITY } = pressure;
  const clusters = Math.ceil(bytes / clusterBytes);
  const written = bytes / disk.bandwidth;
  return readSeconds(disk, clusters, bytes / clusters, 1) + written + (2 * bytes) / compressRate;
}
