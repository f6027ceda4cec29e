import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UpgradesRun } from './summary.ts';

/**
 * 100,000 homes, two models, five upgrades: 10⁶ simulated points, as written by
 * `npx tsx experiments/upgrades.ts --homes 100000 --answer simulated`.
 */
export function recordedUpgrades(): UpgradesRun {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'recorded.json'), 'utf8'));
}
