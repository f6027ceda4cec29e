import { InputError, suggestion } from '../input/input-error.ts';
import type { Provenance } from '../input/quantity.ts';
import type { Device, NetworkLink } from './device.ts';

/** Devices in ring order. The first is the head, which embeds the token and computes the output layer. */
export interface Cluster {
  readonly name: string;
  readonly description: string;
  readonly devices: readonly Device[];
  /** The link from device `from` to device `to` (indices into `devices`). */
  readonly link: (from: number, to: number) => NetworkLink;
  /**
   * The default link and the links of single pairs, as data: planners treat a ring with one link for all pairs faster.
   */
  readonly links: Links;
  /** The source of each number, by its path in the cluster's file. */
  readonly provenance: Readonly<Record<string, Provenance>>;
}

export const MEDIA = ['switched', 'shared'] as const;
export type Medium = (typeof MEDIA)[number];

/** Network links between devices: one for each pair named, and one for all others. */
export interface Links {
  readonly default: NetworkLink;
  readonly pairs: ReadonlyMap<string, NetworkLink>;
  /** Pairs of devices that don't reach each other, by pairKey; missing: all do. */
  readonly unreachable?: ReadonlySet<string>;
  /**
   * `shared`: one message at a time on the whole network, as on Wi-Fi; `switched` (the default): each link by itself.
   */
  readonly medium?: Medium;
}

/** A cluster's description; `createCluster` checks it. */
export interface ClusterParts {
  readonly name: string;
  readonly description?: string;
  readonly devices: readonly Device[];
  readonly links: Links;
  readonly provenance?: Readonly<Record<string, Provenance>>;
}

/** Key of a pair of devices in Links.pairs, the same in both directions. */
export function pairKey(a: string, b: string): string {
  return a < b ? `${a}\n${b}` : `${b}\n${a}`;
}

/**
 * Makes a cluster of devices in ring order, the head first.
 * @throws InputError if there is no device or a name occurs twice
 */
export function createCluster({ name, description = '', devices, links, provenance = {} }: ClusterParts): Cluster {
  if (devices.length === 0) throw new InputError(`cluster ${name}`, 'has no device; give at least one');
  const names = devices.map((device) => device.name);
  const twice = names.find((device, index) => names.indexOf(device) !== index);
  if (twice !== undefined) throw new InputError(`cluster ${name}`, `device "${twice}" occurs twice; rename one`);
  const link = (from: number, to: number): NetworkLink => {
    if (links.pairs.size === 0) return links.default;
    return links.pairs.get(pairKey(names[from] ?? '', names[to] ?? '')) ?? links.default;
  };
  return { name, description, devices, link, links, provenance };
}

/** Whether two devices reach each other directly. */
export function reaches({ links }: Cluster, a: string, b: string): boolean {
  return links.unreachable?.has(pairKey(a, b)) !== true;
}

/** Index of the device called `name`. @throws InputError that suggests a name */
export function deviceIndex(cluster: Cluster, name: string): number {
  const index = cluster.devices.findIndex((device) => device.name === name);
  if (index < 0) {
    const names = cluster.devices.map((device) => device.name);
    throw new InputError(`cluster ${cluster.name}`, `has no device "${name}"${suggestion(name, names)}`);
  }
  return index;
}

/** The ring with the named devices only, in ring order; the first of them is the head. */
export function withDevices(cluster: Cluster, names: readonly string[]): Cluster {
  const kept = new Set(names.map((name) => deviceIndex(cluster, name)));
  return createCluster({ ...cluster, devices: cluster.devices.filter((_, index) => kept.has(index)) });
}

/** The same devices without their GPUs, or without those of the devices that `concerned` accepts. */
export function withoutGpus(cluster: Cluster, concerned: (device: string) => boolean = () => true): Cluster {
  const devices = cluster.devices.map((device) => (concerned(device.name) ? { ...device, gpu: undefined } : device));
  return createCluster({ ...cluster, devices });
}
