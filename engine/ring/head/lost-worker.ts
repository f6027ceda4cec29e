import { formatBytes } from '../../input/format.ts';
import { PART_BYTES } from '../wire/frame.ts';
import { HEARTBEAT_TIMEOUT } from '../wire/transport.ts';
import { DeviceLostError } from './errors.ts';
import type { RingPasses } from './passes.ts';
import type { RingLayout } from './planning.ts';

/*
 * Recovery when a worker is lost:
 *
 * 1. Its connection to the head is cut (member.ts: heartbeats, 3.5 s at most), or another worker reports that it can't
 *    reach it (assembly.ts). Presence records that, and the assembly breaks with a DeviceLostError.
 * 2. All requests that wait for logits reject with that error. Their KV caches are lost.
 * 3. The texts in the ring (ring-texts.ts) catch the error and ask recoveringRing for a whole ring, which plans with the
 *    remaining devices and assembles them until that succeeds or they can't hold the model. Only one recovery runs at a
 *    time.
 * 4. Each text opens a new request and evaluates again all its tokens that are on no device: it continues where it
 *    stopped. A page that several texts use is evaluated once.
 *
 * When a worker comes back, the ring is assembled again in the same way before the next token.
 */

/** Tracks which devices are usable. */
export interface Presence {
  /** The devices that are connected and usable, the head first, in ring order. */
  present(): string[];
  /** Devices that came back since the last assembly. */
  readonly returned: ReadonlySet<string>;
  /** Excludes a device that is connected to the head but not to other devices, until it connects again. */
  exclude(device: string): void;
  /** Takes an excluded device in again. */
  include(device: string): void;
  /** Must be called when a device has connected. */
  came(device: string): void;
  /** Must be called when a connection was cut. */
  gone(device: string, reason: string): void;
  /** Clears `returned`; called after an assembly. */
  assembled(): void;
}

export interface PresenceOptions {
  readonly head: string;
  /** Whether the head is connected to its members, in ring order. */
  readonly members: () => readonly { readonly name: string; readonly connected: boolean }[];
  /** Whether the ring has been assembled; before that, no device counts as lost or returned. */
  readonly isAssembled: () => boolean;
  /** Called when a device is lost. */
  readonly onLost: (error: DeviceLostError) => void;
  readonly log: (line: string) => void;
}

export function createPresence({ head, members, isAssembled, onLost, log }: PresenceOptions): Presence {
  const excluded = new Set<string>();
  const returned = new Set<string>();
  return {
    present: () => [
      head,
      ...members()
        .filter(({ name, connected }) => connected && !excluded.has(name))
        .map(({ name }) => name),
    ],
    returned,
    exclude: (device) => excluded.add(device),
    include: (device) => excluded.delete(device),
    came(device) {
      if (!isAssembled()) return;
      log(`${device} is back`);
      excluded.delete(device);
      returned.add(device);
    },
    gone(device, reason) {
      log(`lost ${device}: ${reason}`);
      returned.delete(device);
      onLost(new DeviceLostError(device, reason));
    },
    assembled: () => returned.clear(),
  };
}

/** Bytes per second from which on a heartbeat, which goes between two parts of a frame, comes in time. */
const LEAST_BANDWIDTH = PART_BYTES / HEARTBEAT_TIMEOUT;

/**
 * Why a device is lost, with the bandwidth of its link where heartbeats don't pass next to frames.
 * @param bandwidth bytes per second, as measured; `undefined`: not measured
 */
export function lossReason(reason: string, bandwidth = Number.POSITIVE_INFINITY): string {
  if (bandwidth >= LEAST_BANDWIDTH) return reason;
  const [is, least] = [bandwidth, LEAST_BANDWIDTH].map(formatBytes);
  return `${reason}: the link to it is too slow, ${is} a second were measured, and frames need ${least}`;
}

/** The part of a head that recovery uses (head.ts). */
export interface RecoverableHead extends RingPasses {
  present(): string[];
  readonly whole: boolean;
  readonly returned: ReadonlySet<string>;
  assemble(layout: RingLayout): Promise<void>;
  request(): number;
}

/** A ring that recovers from lost devices; its requests share it. */
export interface RecoveringRing {
  /** The ring, assembled and whole. Rejects if the remaining devices can't hold the model. */
  ready(): Promise<RecoverableHead>;
  /** The number of assemblies. Requests of an earlier assembly have lost their caches. */
  readonly assemblies: number;
}

/**
 * @param layoutFor makes a plan for these devices, the head first; throws if they can't hold the model
 * @param log called when the ring continues with other devices
 */
export function recoveringRing(
  head: RecoverableHead,
  layoutFor: (devices: readonly string[]) => RingLayout,
  log: (line: string) => void,
): RecoveringRing {
  let assemblies = 0;
  let recovery: Promise<RecoverableHead> | undefined;

  const assemble = async (): Promise<RecoverableHead> => {
    // Terminates, since each loss leaves one device fewer.
    for (;;) {
      const devices = head.present();
      const layout = layoutFor(devices);
      assemblies += 1;
      try {
        if (assemblies > 1) log(`continues with ${devices.join(', ')}`);
        await head.assemble(layout);
        return head;
      } catch (error) {
        if (!(error instanceof DeviceLostError)) throw error;
        log(error.message);
      }
    }
  };

  return {
    get assemblies() {
      return assemblies;
    },
    ready() {
      // The head may have been assembled before, to measure links.
      if (assemblies > 0 && recovery === undefined && head.whole && head.returned.size === 0)
        return Promise.resolve(head);
      recovery ??= assemble().finally(() => {
        recovery = undefined;
      });
      return recovery;
    },
  };
}
