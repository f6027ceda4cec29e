import type { Evaluate } from '../sweep/sweep.ts';
import { leastSeconds, type UpgradesSetting, upgradePoint } from './homes.ts';

export default function createEvaluate(setting: unknown): Evaluate {
  return (point) => leastSeconds(upgradePoint(point, setting as UpgradesSetting), setting as UpgradesSetting);
}
