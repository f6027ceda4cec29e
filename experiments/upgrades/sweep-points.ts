import { z } from 'zod';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Evaluate } from '../sweep/sweep.ts';
import { homeCluster, leastSeconds, type UpgradePoint, type UpgradesSetting, upgradePoint } from './homes.ts';

/** Least TPOT, seconds; `null` where no plan fits. */
export const RESULT = z.number().positive().nullable();

export default function createEvaluate(setting: unknown): Evaluate {
  const settings = setting as UpgradesSetting;
  // Points of the same home and model follow one another.
  let last: { readonly point: UpgradePoint; readonly own: Cluster } | undefined;
  return (number) => {
    const point = upgradePoint(number, settings);
    const isSame = last?.point.home === point.home && last.point.model === point.model;
    const own = last !== undefined && isSame ? last.own : homeCluster(point, settings);
    last = { point, own };
    return leastSeconds(point, own, settings);
  };
}
