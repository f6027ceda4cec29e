import type { DeviceMemory, OperatingSystem } from '../../hardware/device.ts';
import { InputError } from '../../input/input-error.ts';
import { cgroupLimits } from './cgroup-limits.ts';
import type { Host } from './host.ts';

/** Memory, and the rule that determines what counts as available. */
export interface MemoryFacts {
  readonly os: OperatingSystem;
  readonly memory: DeviceMemory;
  /** The rule behind `memory.available`, for people. */
  readonly rule: string;
}

/** Systems whose memory can be read, by Node.js's names of platforms. */
const SYSTEMS: Readonly<Record<string, Exclude<OperatingSystem, 'windows'>>> = {
  linux: 'linux',
  android: 'android',
  darwin: 'macos',
};

/**
 * Memory that a model may use next to other programs, as the operating system reports it. On Linux and Android that is
 * MemAvailable (free pages and those that can be reclaimed), bounded by the process's control groups; on macOS, pages
 * that are free, inactive, speculative or purgeable. Only Android counts swap (prima.cpp Eq. 17): anonymous pages that
 * haven't been used recently, as far as swap has room for them.
 * @throws InputError on other systems, and if the system doesn't report its memory
 */
export function readMemory(host: Host): MemoryFacts {
  const os = SYSTEMS[host.platform];
  if (os === undefined)
    throw new InputError('profile', `${host.platform} is not supported; Linux, Android and macOS are`);
  return os === 'macos' ? macMemory(host) : linuxMemory(host, os);
}

function linuxMemory(host: Host, os: 'linux' | 'android'): MemoryFacts {
  const text = host.readText('/proc/meminfo') ?? '';
  const read = (key: string): number | undefined => {
    const kibibytes = new RegExp(`^${key.replace(/[()]/g, '\\$&')}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  };
  const [installed, estimate] = [read('MemTotal'), read('MemAvailable')];
  if (installed === undefined || estimate === undefined)
    throw new InputError('/proc/meminfo', 'has no MemTotal or MemAvailable; Linux 3.14 or later is needed');
  const group = cgroupLimits(host);
  const limited = group.available < estimate;
  const isAndroid = os === 'android';
  return {
    os,
    memory: {
      total: Math.min(installed, group.total),
      available: Math.min(estimate, group.available),
      swappable: isAndroid ? (read('Inactive(anon)') ?? 0) : 0,
      swapFree: isAndroid ? Math.min(read('SwapFree') ?? 0, group.swapFree) : 0,
    },
    rule: limited ? 'limit of a control group less what can’t be reclaimed' : 'MemAvailable of Linux',
  };
}

function macMemory(host: Host): MemoryFacts {
  const text = host.vmStat() ?? '';
  const pageBytes = Number(/page size of (\d+) bytes/.exec(text)?.[1]);
  const pages = ['free', 'inactive', 'speculative', 'purgeable'].map((kind) =>
    Number(new RegExp(`^Pages ${kind}:\\s+(\\d+)\\.`, 'm').exec(text)?.[1]),
  );
  const available = pageBytes * pages.reduce((sum, count) => sum + count, 0);
  if (!Number.isFinite(available)) throw new InputError('vm_stat', 'prints no numbers of pages');
  const memory = {
    total: host.totalMemory,
    available: Math.min(available, host.totalMemory),
    swappable: 0,
    swapFree: 0,
  };
  return { os: 'macos', memory, rule: 'pages that are free, inactive, speculative or purgeable' };
}
