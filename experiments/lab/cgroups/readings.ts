import type { Controllers, Resource } from './controllers.ts';

/** Readings of a control group's files about its processes. */
export interface GroupReadings {
  /** Largest memory use so far, page cache included, bytes. */
  readonly peakBytes: number;
  /** Bytes read from the disk since the group was made. */
  readonly readBytes: number;
  /** Processes killed for lack of memory. */
  readonly kills: number;
}

/**
 * Reads a group in the version of control groups that each resource has.
 * @param read returns the text of a file of the group
 * @param disk `major:minor` of the throttled disk
 */
export function groupReadings(
  controllers: Controllers,
  read: (resource: Resource, file: string) => string,
  disk: string,
): GroupReadings {
  const [io, pattern] =
    controllers.disk.version === 1
      ? [read('disk', 'blkio.throttle.io_service_bytes'), `^${disk} Read (\\d+)$`]
      : [read('disk', 'io.stat'), `^${disk} .*rbytes=(\\d+)`];
  // A disk that was never read is not listed.
  const readBytes = Number(new RegExp(pattern, 'm').exec(io)?.[1] ?? 0);
  if (controllers.memory.version === 1)
    return {
      peakBytes: Number(read('memory', 'memory.max_usage_in_bytes')),
      readBytes,
      kills: field(read('memory', 'memory.oom_control'), 'oom_kill'),
    };
  return {
    peakBytes: Number(read('memory', 'memory.peak')),
    readBytes,
    kills: field(read('memory', 'memory.events'), 'oom_kill'),
  };
}

/** The value of a line `name value`; 0 where there is no such line. */
function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
