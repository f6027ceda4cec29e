import type { Controllers, Resource } from './controllers.ts';

/** What a device of a lab may take. */
export interface DeviceLimits {
  /** Bytes in all: program, weights, page tables. */
  readonly memory: number;
  /** Bytes per second from the disk. */
  readonly diskRate: number;
  /** Processors' worth of time. */
  readonly cores: number;
}

/** A value for a file of a group. */
export interface GroupWrite {
  readonly resource: Resource;
  readonly file: string;
  readonly value: string;
}

/** Microseconds over which a quota of processor time is counted: Linux's own. */
const PERIOD = 100_000;

/** Within its quota a device goes before whatever else the machine does: it stands for a machine of its own. */
const MOST_SHARES = 262_144;
const MOST_WEIGHT = 10_000;

/** How a device's limits are written down, in each version of control groups. @param disk its `major:minor` */
export function limitWrites(
  { memory, diskRate, cores }: DeviceLimits,
  disk: string,
  controllers: Controllers,
): GroupWrite[] {
  const [bytes, rate, quota] = [memory, diskRate, cores * PERIOD].map((value) => String(Math.round(value)));
  return [
    ...memoryWrites(bytes as string, controllers),
    controllers.disk.version === 1
      ? { resource: 'disk', file: 'blkio.throttle.read_bps_device', value: `${disk} ${rate}` }
      : { resource: 'disk', file: 'io.max', value: `${disk} rbps=${rate}` },
    ...(controllers.cpu.version === 1
      ? [
          { resource: 'cpu', file: 'cpu.shares', value: String(MOST_SHARES) } as const,
          { resource: 'cpu', file: 'cpu.cfs_period_us', value: String(PERIOD) } as const,
          { resource: 'cpu', file: 'cpu.cfs_quota_us', value: quota as string } as const,
        ]
      : [
          { resource: 'cpu', file: 'cpu.weight', value: String(MOST_WEIGHT) } as const,
          { resource: 'cpu', file: 'cpu.max', value: `${quota} ${PERIOD}` } as const,
        ]),
  ];
}

function memoryWrites(bytes: string, { memory }: Controllers): GroupWrite[] {
  if (memory.version === 1) return [{ resource: 'memory', file: 'memory.limit_in_bytes', value: bytes }];
  return [
    { resource: 'memory', file: 'memory.max', value: bytes },
    { resource: 'memory', file: 'memory.swap.max', value: '0' },
  ];
}
