import type { Host } from './host.ts';

/**
 * Memory that a control group may still allocate: its limit less the memory that it holds and that can't be reclaimed.
 */
export interface CgroupLimits {
  /** Bytes of memory: the tightest limit of the process's group and its ancestors; infinite without one. */
  readonly total: number;
  readonly available: number;
  readonly swapFree: number;
}

interface Hierarchy {
  /** Root folder of the groups. */
  readonly root: string;
  readonly limit: string;
  readonly usage: string;
  /** Keys of memory.stat that count pages of files, which the operating system drops under pressure. */
  readonly fileKeys: readonly string[];
  readonly swapLimit: string;
  readonly swapUsage: string;
  /** Version 1 counts memory and swap together. */
  readonly swapIncludesMemory: boolean;
}

/** Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst. */
const VERSION_2: Hierarchy = {
  root: '/sys/fs/cgroup',
  limit: 'memory.max',
  usage: 'memory.current',
  fileKeys: ['active_file', 'inactive_file'],
  swapLimit: 'memory.swap.max',
  swapUsage: 'memory.swap.current',
  swapIncludesMemory: false,
};
const VERSION_1: Hierarchy = {
  root: '/sys/fs/cgroup/memory',
  limit: 'memory.limit_in_bytes',
  usage: 'memory.usage_in_bytes',
  fileKeys: ['total_active_file', 'total_inactive_file'],
  swapLimit: 'memory.memsw.limit_in_bytes',
  swapUsage: 'memory.memsw.usage_in_bytes',
  swapIncludesMemory: true,
};

/** Version 1 reports 2⁶³ less a page if there is no limit. */
const NO_LIMIT = 2 ** 60;

/** The limits of this process's control groups, version 1 or 2. */
export function cgroupLimits(host: Host): CgroupLimits {
  const limits = groupsOf(host).map(({ hierarchy, path }) => limitsOf(host, hierarchy, path));
  const least = (pick: (one: CgroupLimits) => number): number =>
    Math.min(Number.POSITIVE_INFINITY, ...limits.map(pick));
  return {
    total: least(({ total }) => total),
    available: least(({ available }) => available),
    swapFree: least(({ swapFree }) => swapFree),
  };
}

/**
 * The process's control group and its ancestors; the limits of all of them apply. In a container the path may be the
 * host's, which is invisible inside; the container then sees its own group at the root.
 */
function groupsOf(host: Host): { hierarchy: Hierarchy; path: string }[] {
  const lines = (host.readText('/proc/self/cgroup') ?? '').split('\n');
  for (const line of lines) {
    const [, number, controllers, path] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    const isMemory = (controllers ?? '').split(',').includes('memory');
    if (path === undefined || !(isMemory || number === '0')) continue;
    const hierarchy = isMemory ? VERSION_1 : VERSION_2;
    const names = path.split('/').filter((name) => name !== '');
    const paths = names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`).reverse();
    const groups = [...paths, ''].map((path) => ({ hierarchy, path }));
    if (groups.some((group) => host.readText(fileOf(group.hierarchy, group.path, hierarchy.usage)) !== undefined))
      return groups;
  }
  return [];
}

function limitsOf(host: Host, hierarchy: Hierarchy, path: string): CgroupLimits {
  const read = (name: string): number | undefined => bytesIn(host.readText(fileOf(hierarchy, path, name)));
  const total = read(hierarchy.limit) ?? Number.POSITIVE_INFINITY;
  const usage = read(hierarchy.usage) ?? 0;
  const stat = host.readText(fileOf(hierarchy, path, 'memory.stat')) ?? '';
  const files = hierarchy.fileKeys.reduce((sum, key) => sum + statOf(stat, key), 0);
  const held = Math.max(0, usage - files);
  const swapLimit = read(hierarchy.swapLimit) ?? Number.POSITIVE_INFINITY;
  const swapUsage = read(hierarchy.swapUsage) ?? 0;
  const swapRoom = hierarchy.swapIncludesMemory
    ? swapLimit - (Number.isFinite(total) ? total : 0) - Math.max(0, swapUsage - usage)
    : swapLimit - swapUsage;
  return { total, available: Math.max(0, total - held), swapFree: Math.max(0, swapRoom) };
}

function fileOf({ root }: Hierarchy, path: string, name: string): string {
  return `${root}${path}/${name}`;
}

/** A number of bytes; infinite for `max` and for numbers above NO_LIMIT; `undefined` without a file. */
function bytesIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim() === 'max' ? Number.POSITIVE_INFINITY : Number(text.trim());
  return value >= NO_LIMIT ? Number.POSITIVE_INFINITY : value;
}

function statOf(stat: string, key: string): number {
  return Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
}
