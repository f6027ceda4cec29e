import type { Host } from './memory/host.ts';

const FOLDER = '/sys/devices/system/cpu/cpu0/cache';
const MULTIPLES: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** Bytes of the last-level cache (level 3 or above); `undefined` if there is none or the system doesn't report it. */
export function lastLevelCacheBytes({ readText }: Host): number | undefined {
  let found: { level: number; bytes: number } | undefined;
  for (let index = 0; ; index++) {
    const read = (name: string): string | undefined => readText(`${FOLDER}/index${index}/${name}`)?.trim();
    const level = Number(read('level') ?? 0);
    if (level === 0) return found?.bytes;
    const [, count, multiple = ''] = /^(\d+)([KMG]?)$/.exec(read('size') ?? '') ?? [];
    const bytes = Number(count) * (MULTIPLES[multiple] ?? 1);
    if (level >= 3 && bytes > 0 && level > (found?.level ?? 0)) found = { level, bytes };
  }
}
