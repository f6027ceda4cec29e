import type { Controllers, Resource } from './controllers.ts';

/** Limits of one device of a lab on this machine. */
export interface DeviceLimits {
  /** Bytes for the process, its weights and its page tables together. */
  readonly memory: number;
  /** Bytes per second read from the disk. */
  readonly diskRate: number;
  /** Processor time, as a number of processors; may be a fraction. */
  readonly cores: number;
}

/** One value to be written to a file of a control group. */
export interface GroupWrite {
  readonly resource: Resource;
  readonly file: string;
  readonly value: string;
}

/** Period over which Linux counts a quota of processor time by default, microseconds. */
const PERIOD = 100_000;

/** Highest priorities: within its quota a device runs before everything else, since it stands for a machine of its own. */
const MOST_SHARES = 262_144;
const MOST_WEIGHT = 10_000;

/**
 * The writes that set a device's limits, in the version of control groups that each resource has.
 * @param disk `major:minor` of the throttled disk
 */
export function limitWrites(
  { memory, diskRate, cores }: DeviceLimits,
  disk: string,
  controllers: Controllers,
): GroupWrite[] {
  const bytes = String(Math.round(memory));
  const rate = String(Math.round(diskRate));
  const quota = String(Math.round(cores * PERIOD));
  return [
    ...(controllers.memory.version === 1
      ? [write('memory', 'memory.limit_in_bytes', bytes)]
      : [write('memory', 'memory.max', bytes), write('memory', 'memory.swap.max', '0')]),
    controllers.disk.version === 1
      ? write('disk', 'blkio.throttle.read_bps_device', `${disk} ${rate}`)
      : write('disk', 'io.max', `${disk} rbps=${rate}`),
    ...(controllers.cpu.version === 1
      ? [
          write('cpu', 'cpu.shares', String(MOST_SHARES)),
          write('cpu', 'cpu.cfs_period_us', String(PERIOD)),
          write('cpu', 'cpu.cfs_quota_us', quota),
        ]
      : [write('cpu', 'cpu.weight', String(MOST_WEIGHT)), write('cpu', 'cpu.max', `${quota} ${PERIOD}`)]),
  ];
}

function write(resource: Resource, file: string, value: string): GroupWrite {
  return { resource, file, value };
}
