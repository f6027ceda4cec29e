import { randomBytes } from 'node:crypto';
import { Router } from 'zeromq';
import { InputError } from '../input/input-error.ts';
import { decodeFrame } from './decode-frame.ts';
import { encodeFrame } from './encode-frame.ts';
import { type Frame, FrameError } from './frame.ts';
import { createOutbox } from './outbox.ts';
import { takeOver } from './take-over.ts';
import { SOCKET_OPTIONS, type Transport } from './transport.ts';
import { toZ85 } from './z85.ts';

/** An address at which peers connect; a peer is known by the name that it chose for its connection, at random. */
export interface Listener {
  /** Where it is, with the port that was chosen. */
  readonly address: string;
  /** Rejects where the peer has gone. */
  send(peer: string, frame: Frame): Promise<void>;
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
  /** May throw a FrameError, as for a frame that can't be read: the peer is then cut off (take-over.ts). */
  readonly onFrame: (peer: string, frame: Frame) => void;
  /** What is sent to the peer now still reaches it. */
  readonly onExpelled: (peer: string, reason: string) => void;
}

/** Seconds after which a send fails where no peer at all is left: the binding waits for one, libzmq tells at once else. */
const UNREACHABLE = 4;

/** Peers that are remembered as expelled, should they come back; each of them had to be let in before. */
const MOST_EXPELLED = 10_000;

/** @throws InputError where the address can't be listened at */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { transport, address, domain, mostBytes, onFrame, onExpelled } = options;
  const { context, keys } = transport;
  const socket = new Router({
    ...SOCKET_OPTIONS,
    context,
    mandatory: true,
    handover: true,
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
  const bound = socket.lastEndpoint ?? address;
  const inside = `inproc://${randomBytes(16).toString('hex')}`;
  await socket.bind(inside);
  const outbox = createOutbox(transport.delay);
  const expelled = new Set<string>();
  const expel = (peer: string): void => {
    if (expelled.size >= MOST_EXPELLED) expelled.clear();
    expelled.add(peer);
    // After what is to be sent: the reason.
    outbox(async () => takeOver(context, inside, peer)).catch(() => {});
  };
  const hear = (peer: string, parts: readonly Buffer[]): void => {
    if (expelled.has(peer)) {
      expel(peer);
      return;
    }
    try {
      const [bytes] = parts;
      if (bytes === undefined || parts.length !== 1) throw new FrameError(`a frame in ${parts.length} parts`);
      onFrame(peer, decodeFrame(bytes));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      onExpelled(peer, error.message);
      expel(peer);
    }
  };
  const serve = async (): Promise<void> => {
    for (;;) {
      const [peer, ...parts] = await socket.receive();
      hear((peer as Buffer).toString('latin1'), parts);
    }
  };
  serve().catch((error) => {
    if (!socket.closed) throw error;
  });
  return {
    address: bound,
    send(peer, frame) {
      const bytes = encodeFrame(frame); // at once: its payload may be a view of memory that is used again
      return outbox(() => socket.send([Buffer.from(peer, 'latin1'), bytes]));
    },
    close: () => socket.close(),
  };
}
