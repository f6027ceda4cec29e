import { type Connection, connect, TOO_SLOW } from '../wire/connection.ts';
import type { Frame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import { createProbe, probeLink } from '../wire/link-probe.ts';
import type { MeasuredLink, Successor } from '../wire/message.ts';
import type { Transport } from '../wire/transport.ts';

/** A worker's connections to the devices that its results go to. */
export interface SuccessorLinks {
  /** Sends to a successor. A failure is reported by onLost. */
  send(device: string, frame: Frame): void;
  /** Latency and bandwidth of each link. @param bytes of the longest train of probes */
  measure(bytes: number): Promise<MeasuredLink[]>;
  close(): void;
}

export interface SuccessorLinksOptions {
  readonly transport: Transport;
  readonly successors: readonly Successor[];
  /** The longest frame, bytes. */
  readonly mostBytes: number;
  /** Called once, when all successors are connected. */
  readonly onLinked: () => void;
  /** Called for a successor that can't be reached, or is no more. */
  readonly onLost: (device: string, reason: string) => void;
  /** Default: REACHING. */
  readonly reachSeconds?: number;
}

/** Seconds after which a successor counts as unreachable. */
const REACHING = 4;

export function openSuccessorLinks(options: SuccessorLinksOptions): SuccessorLinks {
  const { transport, successors, mostBytes, onLinked, onLost, reachSeconds = REACHING } = options;
  const waiting = new Set(successors.map(({ name }) => name));
  const links = new Map<string, { readonly connection: Connection; readonly probe: ReturnType<typeof createProbe> }>();
  if (waiting.size === 0) onLinked();
  for (const { name, address, publicKey, linkName } of successors) {
    const probe = createProbe((frame) => connection.send(frame));
    const connection = connect({
      transport,
      address,
      publicKey,
      name: linkName,
      mostBytes,
      onReady() {
        waiting.delete(name);
        if (waiting.size === 0) onLinked();
      },
      onFrame(frame) {
        if (frame.kind !== 'echo') throw new FrameError(`a frame of kind ${frame.kind} where only echoes are allowed`);
        probe.onEcho(frame);
      },
      onGone(reason) {
        onLost(name, reason);
        probe.lost(reason);
      },
    });
    links.set(name, { connection, probe });
  }
  const late = setTimeout(() => {
    for (const name of waiting) onLost(name, links.get(name)?.connection.problem ?? '');
  }, 1000 * reachSeconds);
  return {
    send(device, frame) {
      const { connection } = links.get(device) ?? {};
      connection?.send(frame).catch(() => {
        if (connection.problem === '') onLost(device, TOO_SLOW);
      });
    },
    async measure(bytes) {
      const measured = [];
      for (const [name, { probe }] of links) measured.push(await probeLink(name, probe.probe, bytes));
      return measured;
    },
    close() {
      clearTimeout(late);
      for (const { connection, probe } of links.values()) {
        connection.close();
        probe.lost('the connection is closed');
      }
    },
  };
}
