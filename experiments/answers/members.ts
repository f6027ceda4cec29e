import { existsSync } from 'node:fs';
import { loadCluster } from '../../datasets/load.ts';
import { readText } from '../../datasets/read-text.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { parseJson } from '../../engine/input/parse-json.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { relaysOf } from '../../engine/plan/windows.ts';
import type { MemberAddress } from '../../engine/ring/head/member.ts';
import { parseRing } from '../../engine/ring/head/ring-file.ts';
import { isAddress } from '../../engine/ring/wire/address.ts';
import { readPublicKey } from '../../engine/ring/wire/keys.ts';

/** A cluster file: its devices' facts, and the addresses of those that have one. */
export interface ClusterFile {
  readonly cluster: Cluster;
  readonly members: readonly MemberAddress[];
}

/**
 * Reads a cluster of datasets/clusters or a cluster file, with addresses as for `hearth run` or without.
 * @param plain whether links are not encrypted, so that keys are not needed
 * @throws InputError for mistakes in it, and for a file without hardware facts
 */
export function readClusterFile(name: string, plain: boolean): ClusterFile {
  if (!existsSync(name)) return { cluster: loadCluster(name), members: [] };
  const text = readText(name, 'give a cluster file');
  const { devices } = Object(parseJson(text, name)) as { readonly devices?: unknown };
  const hasAddress = (device: unknown): boolean => Object.hasOwn(Object(device), 'address');
  if (!Array.isArray(devices) || !devices.some(hasAddress)) return { cluster: loadCluster(name), members: [] };
  const { cluster, members } = parseRing(text, name, plain);
  if (cluster === undefined)
    throw new InputError(name, 'has addresses only; add what hearth profile measures of each device, or leave it out');
  return { cluster, members };
}

/** The devices of a plan besides its head, in the order in which a token visits them first. */
export function otherDevices(plan: Plan): string[] {
  const visited = plan.stages.flatMap((stage) => ('cut' in stage ? stage.cut : [stage]).map(({ device }) => device));
  const relays = relaysOf(plan).flatMap(({ via }) => via);
  const holders = 'holders' in plan ? plan.holders.map(({ device }) => device) : [];
  const all = new Set([...visited, plan.output.device, ...relays, ...holders]);
  all.delete(plan.embedding.device);
  return [...all];
}

/**
 * The addresses of a plan's devices besides its head: those of the cluster file, or of `--worker` in the plan's order.
 * @param workers `address`, or `address,publicKey`; `tcp://` may be left out
 * @throws InputError for a device without an address, and for a worker that no device of the plan is
 */
export function planMembers(
  plan: Plan,
  {
    workers,
    file,
    plain,
  }: { readonly workers: readonly string[]; readonly file: ClusterFile | undefined; readonly plain: boolean },
): MemberAddress[] {
  const devices = otherDevices(plan);
  if (workers.length > devices.length) {
    const others = devices.length === 0 ? 'none' : devices.join(', ');
    throw new InputError('--worker', `${workers.length} are given; the plan’s devices besides its head: ${others}`);
  }
  return devices.map((name, index) => {
    const given = workers[index];
    if (given !== undefined) return workerAddress(name, given, plain);
    const known = workers.length === 0 ? file?.members.find((member) => member.name === name) : undefined;
    if (known !== undefined) return known;
    throw new InputError(
      '--worker',
      `is missing for ${name}; start hearth worker there, and give its address in the plan’s order: ${devices.join(', ')}`,
    );
  });
}

/** @throws InputError for an address that is none, and for a key that is missing or none */
function workerAddress(name: string, given: string, plain: boolean): MemberAddress {
  const [place = '', publicKey] = given.split(',');
  const address = place.includes('://') ? place : `tcp://${place}`;
  if (!isAddress(address))
    throw new InputError('--worker', `"${place}" is not an address; give host:port, an IPv6 address in brackets`);
  if (plain) return { name, address, publicKey: undefined };
  if (publicKey === undefined)
    throw new InputError('--worker', `"${given}" has no key; add a comma and what its keygen printed, or use --plain`);
  readPublicKey('--worker', publicKey);
  return { name, address, publicKey };
}
