import type { KernelReclaim } from '../hardware/device.ts';
import type { Host } from './memory/host.ts';

/** How a Linux kernel treats pages of files; both are missing on other systems. */
export interface KernelFacts {
  readonly reclaim?: KernelReclaim;
  /** Bytes; missing too where the disk has no queue, as a network's file system. */
  readonly readAhead?: number;
}

/** Bits of /sys/kernel/mm/lru_gen/enabled (Documentation/admin-guide/mm/multigen_lru.rst). */
const MAIN_SWITCH = 1;
const WALK = 2;

/**
 * Reads from /sys how the kernel reclaims and how far it reads ahead. Kernels without multi-generational LRU have no
 * lru_gen/enabled.
 * @param device number of the file system that holds the model, as `stat` gives it (st_dev)
 */
export function readKernel(host: Host, device: number): KernelFacts {
  if (host.platform !== 'linux' && host.platform !== 'android') return {};
  const bits = Number(host.readText('/sys/kernel/mm/lru_gen/enabled') ?? 0);
  const readAhead = readAheadOf(host, device);
  return { reclaim: reclaimOf(bits), ...(readAhead !== undefined && { readAhead }) };
}

function reclaimOf(bits: number): KernelReclaim {
  if ((bits & MAIN_SWITCH) === 0) return 'two-lists';
  return (bits & WALK) === 0 ? 'mglru-without-walk' : 'mglru';
}

/** Bytes. A partition's queue is its disk's; file systems over several disks have their own number (bdi). */
function readAheadOf(host: Host, device: number): number | undefined {
  const name = deviceName(device);
  const block = `/sys/dev/block/${name}`;
  const texts = [`${block}/queue`, `${block}/../queue`, `/sys/class/bdi/${name}`].map((folder) =>
    host.readText(`${folder}/read_ahead_kb`)?.trim(),
  );
  const text = texts.find((one) => one !== undefined && /^\d+$/.test(one));
  return text === undefined ? undefined : 1024 * Number(text);
}

/** `major:minor` of a device number: 12 and 8 low bits, 20 bits of the minor and the rest of the major above them. */
function deviceName(device: number): string {
  const number = BigInt(device);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & 0xfff00n);
  return `${major}:${minor}`;
}
