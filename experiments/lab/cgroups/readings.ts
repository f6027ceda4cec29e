import type { Controllers, Resource } from './controllers.ts';

/** What a group's files say about its processes. */
export interface GroupReadings {
  /** Most bytes taken at once, page cache included. */
  readonly peakBytes: number;
  /** Bytes that the kernel can't drop: processes' own memory, and the kernel's for them. */
  readonly ownBytes: number;
  /** Bytes read from the disk since the group was made. */
  readonly readBytes: number;
  /** Processes killed for lack of memory. */
  readonly kills: number;
}

/** @param read a file of the group that a resource has */
export function groupReadings(
  { memory, disk }: Controllers,
  read: (resource: Resource, file: string) => string,
  device: string,
): GroupReadings {
  const stat = read('memory', 'memory.stat');
  const io = disk.version === 1 ? read('disk', 'blkio.throttle.io_service_bytes') : read('disk', 'io.stat');
  const ioPattern = disk.version === 1 ? `^${device} Read (\\d+)$` : `^${device} .*rbytes=(\\d+)`;
  const readBytes = Number(new RegExp(ioPattern, 'm').exec(io)?.[1] ?? 0);
  if (memory.version === 1)
    return {
      peakBytes: Number(read('memory', 'memory.max_usage_in_bytes')),
      ownBytes: field(stat, 'total_rss') + Number(read('memory', 'memory.kmem.usage_in_bytes')),
      readBytes,
      kills: field(read('memory', 'memory.oom_control'), 'oom_kill'),
    };
  return {
    peakBytes: Number(read('memory', 'memory.peak')),
    ownBytes: field(stat, 'anon') + field(stat, 'kernel'),
    readBytes,
    kills: field(read('memory', 'memory.events'), 'oom_kill'),
  };
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
