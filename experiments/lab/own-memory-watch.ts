import type { DeviceGroup } from './cgroups/device-group.ts';

/** Samples of what devices' processes take in addition to weights, while a ring runs. */
export interface OwnMemoryWatch {
  /**
   * Means between two times, seconds since 1970; the last sample before where there is none between.
   * @returns bytes of each group; 0 without any sample
   */
  means(from: number, to: number): number[];
  stop(): void;
}

const WATCH_MILLISECONDS = 200;

export function watchOwnMemory(groups: readonly Pick<DeviceGroup, 'ownBytes'>[]): OwnMemoryWatch {
  const samples: { readonly time: number; readonly bytes: readonly number[] }[] = [];
  const sample = (): void => {
    samples.push({ time: Date.now() / 1000, bytes: groups.map((group) => group.ownBytes()) });
  };
  const timer = setInterval(sample, WATCH_MILLISECONDS);
  return {
    means: (from, to) => {
      const between = samples.filter(({ time }) => from <= time && time <= to);
      const counted = between.length > 0 ? between : samples.filter(({ time }) => time < from).slice(-1);
      return groups.map(
        (_, index) =>
          counted.reduce((sum, { bytes }) => sum + (bytes[index] as number), 0) / Math.max(1, counted.length),
      );
    },
    stop: () => clearInterval(timer),
  };
}
