import type { Host } from '../../engine/profile/memory/host.ts';

/** A Linux machine with these files. */
export function hostOf(files: Readonly<Record<string, string>>, platform = 'linux'): Host {
  return { platform, totalMemory: 0, readText: (path) => files[path], vmStat: () => undefined };
}
