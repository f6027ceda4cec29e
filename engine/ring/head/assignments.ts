import { randomBytes } from 'node:crypto';
import { NO_WEIGHTS_POLICY } from '../../plan/weights-policy.ts';
import { type Assignment, FROM_HEAD, type WindowAssignment } from '../wire/message.ts';
import type { RingLayout } from './planning.ts';

/** The part of an assignment that is the same for all devices. */
export type RingSettings = Pick<
  Assignment,
  'context' | 'requests' | 'pageTokens' | 'kvCache' | 'activations' | 'chunk' | 'trace'
>;

/** The ring listener of a device. */
export interface RingAddress {
  readonly address: string;
  readonly publicKey: string | undefined;
}

/** Each device's share of a plan by its name, including the head's own, with a new epoch. */
export function assignments(
  { windows, weights, holders, cut, keysInRam, partitions, streamed }: RingLayout,
  head: string,
  addressOf: (device: string) => RingAddress,
  settings: RingSettings,
): ReadonlyMap<string, Assignment> {
  const epoch = randomBytes(4).readUInt32LE();
  const linkNames = new Map<string, string>();
  const linkName = (from: string, to: string): string => {
    const key = `${from}\n${to}`;
    const name = linkNames.get(key) ?? randomBytes(16).toString('hex');
    linkNames.set(key, name);
    return name;
  };
  const deviceAt = (index: number): string => windows[index]?.device ?? head;
  const members = cut?.members ?? [];
  const devices = new Set([head, ...[...windows, ...(holders ?? []), ...members].map(({ device }) => device)]);
  const noExperts = holders?.[0]?.experts.map(() => []);
  /** Devices other than the head to which a device sends sums, and from which it gets some. */
  const peersOf = (device: string): string[] =>
    cut?.allReduce !== 'exchange' || device === head
      ? []
      : members.map((one) => one.device).filter((name) => name !== head && name !== device);
  return new Map(
    [...devices].map((device): [string, Assignment] => {
      const own = windows.flatMap((window, index) =>
        window.device === device || cut !== undefined ? [{ ...window, index }] : [],
      );
      const after = new Set([
        ...own.map(({ index }) => deviceAt(index + 1)).filter((name) => name !== head && name !== device),
        ...peersOf(device),
      ]);
      const before = new Set([
        ...own.map(({ index }) => deviceAt(index - 1)).filter((name) => name !== head),
        ...peersOf(device),
      ]);
      return [
        device,
        {
          ...settings,
          keysInRam,
          partition: partitions?.get(device),
          streamed: streamed?.get(device),
          weights: weights[device] ?? NO_WEIGHTS_POLICY,
          held: holders?.find((holder) => holder.device === device)?.experts ?? noExperts,
          cut: cut && {
            allReduce: cut.allReduce,
            members: members.map((one) => ({ device: one.device === head ? FROM_HEAD : one.device, share: one.share })),
            own: members.findIndex((one) => one.device === device),
          },
          epoch,
          windowCount: windows.length,
          windows: own.map(({ index, from, to, onGpu = [], onNpu }): WindowAssignment => {
            const next = deviceAt(index + 1);
            return {
              index,
              from,
              to,
              onGpu,
              onNpu,
              next: next === head ? { kind: 'head' } : { kind: 'device', name: next },
            };
          }),
          // The head has its own connections to all devices.
          successors:
            device === head
              ? []
              : [...after].map((name) => ({ name, ...addressOf(name), linkName: linkName(device, name) })),
          predecessors: [...before].map((name) => ({
            name,
            publicKey: addressOf(name).publicKey,
            linkName: linkName(name, device),
          })),
          sources: own.map(({ index }) => {
            const from = deviceAt(index - 1);
            return { window: index, from: from === head ? FROM_HEAD : from };
          }),
        },
      ];
    }),
  );
}
