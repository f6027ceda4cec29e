import { Router } from 'zeromq';
import { InputError } from '../input/input-error.ts';
import { decodeFrame } from './decode-frame.ts';
import { encodeFrame } from './encode-frame.ts';
import { type Frame, FrameError } from './frame.ts';
import { createOutbox } from './outbox.ts';
import { SOCKET_OPTIONS, type Transport } from './transport.ts';
import { toZ85 } from './z85.ts';

/** An address at which peers connect; a peer is known by the name that it chose for its connection, at random. */
export interface Listener {
  /** Where it is, with the port that was chosen. */
  readonly address: string;
  /** Rejects where the peer has gone. */
  send(peer: string, frame: Frame): Promise<void>;
  /** Hears no more of the peer. */
  mute(peer: string): void;
  close(): void;
}

export interface ListenerOptions {
  readonly transport: Transport;
  /** `tcp://host:port`; port * for any. */
  readonly address: string;
  /** Name of its rule of who may connect. */
  readonly domain: string;
  /** The longest frame, bytes; libzmq cuts the connection of who sends a longer one. */
  readonly mostBytes: number;
  /** May throw a FrameError, as for a frame that can't be read: the peer is then muted. */
  readonly onFrame: (peer: string, frame: Frame) => void;
  readonly onMuted: (peer: string, reason: string) => void;
}

/** Seconds after which a send fails where no peer at all is left: the binding waits for one, libzmq tells at once else. */
const UNREACHABLE = 4;

/** Muted peers that are remembered; each of them had to be let in before. */
const MOST_MUTED = 10_000;

/** @throws InputError where the address can't be listened at */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { transport, address, domain, mostBytes, onFrame, onMuted } = options;
  const { context, keys } = transport;
  const socket = new Router({
    ...SOCKET_OPTIONS,
    context,
    mandatory: true,
    sendTimeout: 1000 * UNREACHABLE,
    maxMessageSize: mostBytes,
    ...(keys === undefined ? {} : { curveServer: true, curveSecretKey: toZ85(keys.secretKey), zapDomain: domain }),
  });
  try {
    await socket.bind(address);
  } catch (error) {
    socket.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(address, `can't be listened at (${reason}); give an address of this machine and a free port`);
  }
  const outbox = createOutbox(transport.delay);
  const muted = new Set<string>();
  const mute = (peer: string): void => {
    if (muted.size >= MOST_MUTED) muted.clear();
    muted.add(peer);
  };
  const hear = (peer: string, parts: readonly Buffer[]): void => {
    if (muted.has(peer)) return;
    try {
      const [bytes] = parts;
      if (bytes === undefined || parts.length !== 1) throw new FrameError(`a frame in ${parts.length} parts`);
      onFrame(peer, decodeFrame(bytes));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      mute(peer);
      onMuted(peer, error.message);
    }
  };
  const serve = async (): Promise<void> => {
    for await (const [peer, ...parts] of socket) hear((peer as Buffer).toString('latin1'), parts);
  };
  serve().catch((error) => {
    if (!socket.closed) throw error;
  });
  return {
    address: socket.lastEndpoint ?? address,
    send(peer, frame) {
      const bytes = encodeFrame(frame); // at once: its payload may be a view of memory that is used again
      return outbox(() => socket.send([Buffer.from(peer, 'latin1'), bytes]));
    },
    mute,
    close: () => socket.close(),
  };
}
