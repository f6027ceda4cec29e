import type { MemoryRegime } from '../../datasets/random-cluster.ts';
import { type Answer, homeShape, REGIMES, UPGRADES, type Upgrade, type UpgradesSetting } from './homes.ts';

/** An upgrade counts as a gain if it takes less than this share of the time. */
export const WORTHWHILE = 0.95;

/** Homes of one memory regime, under one model. */
export interface UpgradeGroup {
  readonly model: string;
  readonly regime: MemoryRegime;
  readonly homes: number;
  /** Homes that run nothing, whatever is bought. */
  readonly unrunnable: number;
  /** Homes that gain most from each upgrade; `none`: no upgrade gains 5 %. */
  readonly first: Readonly<Record<Upgrade, number>>;
  /** Median of TPOT without over TPOT with an upgrade, over homes that run and can buy it; NaN for none. */
  readonly medianGain: Readonly<Record<Upgrade, number>>;
}

/** Groups, and the settings of the run that they are from. */
export interface UpgradesRun {
  readonly settings: {
    readonly seed: number;
    readonly homes: number;
    readonly context: number;
    readonly answer: Answer;
    /** Names with mixes: `Llama-3-8B:Q4_K_M`. */
    readonly models: readonly string[];
  };
  readonly groups: readonly UpgradeGroup[];
}

/** @param seconds of every point, in order */
export function summariseUpgrades(seconds: readonly (number | null)[], setting: UpgradesSetting): UpgradeGroup[] {
  const { models } = setting;
  const homes = Math.floor(seconds.length / (models.length * UPGRADES.length));
  const regimes = Array.from({ length: homes }, (_, home) => homeShape(home, setting).regime);
  return models.flatMap((model, at) =>
    REGIMES.map((regime): UpgradeGroup => {
      const first = Object.fromEntries(UPGRADES.map((name) => [name, 0])) as Record<Upgrade, number>;
      const gains = new Map<Upgrade, number[]>(UPGRADES.map((name) => [name, []]));
      let [count, unrunnable] = [0, 0];
      for (let home = 0; home < homes; home++) {
        if (regimes[home] !== regime) continue;
        count += 1;
        const from = (home * models.length + at) * UPGRADES.length;
        const times = UPGRADES.map((_, index) => seconds[from + index] ?? Number.POSITIVE_INFINITY);
        const [base = Number.POSITIVE_INFINITY] = times;
        const least = Math.min(...times);
        if (least === Number.POSITIVE_INFINITY) {
          unrunnable += 1;
          continue;
        }
        const best = least < WORTHWHILE * base ? times.indexOf(least) : 0;
        first[UPGRADES[best] as Upgrade] += 1;
        if (base === Number.POSITIVE_INFINITY) continue;
        for (const [index, name] of UPGRADES.entries()) {
          const time = times[index] as number;
          if (time < Number.POSITIVE_INFINITY) gains.get(name)?.push(base / time);
        }
      }
      const medianGain = Object.fromEntries([...gains].map(([name, list]) => [name, median(list)]));
      return {
        model: model.name,
        regime,
        homes: count,
        unrunnable,
        first,
        medianGain: medianGain as Record<Upgrade, number>,
      };
    }),
  );
}

function median(values: number[]): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
