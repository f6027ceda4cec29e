import { readFileSync } from 'node:fs';
import { type LoadedCluster, loadClusterFile } from '../../../datasets/load.ts';
import { parseCluster } from '../../../engine/hardware/parse-cluster.ts';
import type { Parameter } from './study.ts';

/** A quantity of a cluster file whose source is `calibrated`. */
export interface CalibratedQuantity extends Parameter {
  readonly cluster: string;
  readonly place: string;
}

/** The calibrated quantities of a cluster of datasets/clusters, in the order of its file. */
export function calibratedQuantities(cluster: string): CalibratedQuantity[] {
  return loadClusterFile(cluster).statements.flatMap(({ kind, place, value, efficiency }) =>
    kind === 'calibrated'
      ? [
          {
            ...{ cluster, place, name: `${cluster}: ${place}`, kind: 'fitted' },
            value: efficiency === 1 ? value : `${(100 * efficiency).toFixed(1)} % of ${value}`,
          } satisfies CalibratedQuantity,
        ]
      : [],
  );
}

/**
 * The cluster with one of its calibrated quantities multiplied by a factor; more memory for a model is more memory in
 * all. @throws RangeError if it has none there
 */
export function scaledCluster({ cluster, place }: CalibratedQuantity, factor: number): LoadedCluster {
  const file = `datasets/clusters/${cluster}.json`;
  const root = JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));
  const [device = '', keys = ''] = place.split(' ');
  const path = keys.split('.');
  const last = path.pop() ?? '';
  const devices: readonly Record<string, unknown>[] = root.devices;
  const holder = path.reduce<Record<string, unknown> | undefined>(
    (part, key) => part?.[key] as Record<string, unknown> | undefined,
    devices.find(({ name }) => name === device),
  );
  if (holder?.[last] === undefined) throw new RangeError(`${file} has no quantity at ${place}`);
  holder[last] = scaledQuantity(holder[last], factor);
  if (last === 'available' && factor > 1) holder.total = scaledQuantity(holder.total, factor);
  return { ...loadClusterFile(cluster), cluster: parseCluster(JSON.stringify(root), file) };
}

/** `2.5 W` twice is `5 W`, with or without a source. */
function scaledQuantity(quantity: unknown, factor: number): unknown {
  if (typeof quantity === 'object') {
    const { value, ...source } = quantity as { readonly value: string };
    return { ...source, value: scaledQuantity(value, factor) };
  }
  return String(quantity).replace(/^[\d.]+/, (number) => String(Number(number) * factor));
}
