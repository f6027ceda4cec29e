import { lookup } from 'node:dns';
import { Dealer } from 'zeromq';
import { hostOf, isIpv6 } from './address.ts';
import { clock } from './clock.ts';
import { encodeFrame, type Frame, joinedFrame, MOST_PART_BYTES, partsOf } from './frame.ts';
import { FrameError } from './frame-error.ts';
import { createOutbox } from './job-queue.ts';
import { toZ85 } from './keys.ts';
import { CLOSING, HANDSHAKE_TIMEOUT, SEND_TIMEOUT, SOCKET_OPTIONS, type Transport } from './transport.ts';

/** A connection to a listener. */
export interface Connection {
  send(frame: Frame): Promise<void>;
  /** Why the connection doesn't exist or no longer exists; empty while it does. */
  readonly problem: string;
  /** Whether the peer accepted the connection, and then took no part in the handshake. */
  readonly silent: boolean;
  close(): void;
}

export interface ConnectionOptions {
  readonly transport: Transport;
  readonly address: string;
  /** The listener's public key, hexadecimal; `undefined`: a plain link. */
  readonly publicKey: string | undefined;
  /** The name by which the listener knows this end: 32 hexadecimal digits. */
  readonly name: string;
  /** The longest frame that is accepted, bytes. */
  readonly mostBytes: number;
  /** Called when the peer is connected and authenticated. */
  readonly onReady: () => void;
  /** May throw a FrameError, which closes the connection, as does a frame that can't be decoded. */
  readonly onFrame: (frame: Frame) => void;
  /**
   * Called once when an established connection is cut, or closed because of what the peer sent. @param invalid whether
   * the peer sent what no honest one sends
   */
  readonly onGone: (reason: string, invalid: boolean) => void;
}

/** Why a peer is lost to which frames can't be sent, though it answers heartbeats. */
export const TOO_SLOW = `the link to it is too slow: no frame could be sent for ${SEND_TIMEOUT} s`;

/** Milliseconds between attempts to connect. */
const RECONNECT = 100;

/** Connects to a listener; retries until it succeeds or is closed. */
export function connect(options: ConnectionOptions): Connection {
  const { transport, address, publicKey, name, mostBytes, onReady, onFrame, onGone } = options;
  const { context, keys } = transport;
  const encrypted = keys !== undefined && publicKey !== undefined;
  const socket = new Dealer({
    ...SOCKET_OPTIONS,
    context,
    ipv6: isIpv6(address),
    immediate: false, // otherwise libzmq drops what a peer that has left sent before, if it isn't read yet
    reconnectInterval: RECONNECT,
    maxMessageSize: MOST_PART_BYTES,
    ...(encrypted
      ? {
          curveServerKey: toZ85(publicKey),
          curvePublicKey: toZ85(keys.publicKey),
          curveSecretKey: toZ85(keys.secretKey),
        }
      : {}),
  });
  socket.routingId = name;
  let ready = false;
  let refused = false;
  let silent = false;
  /** When the network connection was made, seconds; the handshake follows. */
  let reachedAt = 0;
  let problem = `nobody listens at ${address}`;
  const outbox = createOutbox(transport.delay);
  const end = (reason: string, invalid: boolean): void => {
    problem = reason;
    if (socket.closed) return;
    socket.linger = 0; // nothing that waits is for a process that takes this one's place at the address
    socket.close();
    if (ready) onGone(reason, invalid);
  };
  socket.events.on('connect', () => {
    reachedAt = clock();
  });
  socket.events.on('handshake', () => {
    if (socket.closed) return;
    ready = true;
    silent = false;
    problem = '';
    onReady();
  });
  socket.events.on('disconnect', () => {
    if (ready) return end('the connection is cut', false);
    if (refused) return;
    // A peer that refuses the handshake closes the connection at once.
    silent = clock() - reachedAt > 0.9 * HANDSHAKE_TIMEOUT;
    if (silent)
      problem = `does not answer at ${address}: its process hangs, is stopped, or isn’t a hearth worker, or the link is too slow`;
    else problem = encrypted ? 'the keys do not match, or only one end uses keys' : 'only one end uses keys';
  });
  socket.events.on('handshake:error:auth', () => {
    refused = true;
    problem = 'it does not know the public key of this device';
  });
  const serve = async (): Promise<void> => {
    for await (const parts of socket) {
      try {
        onFrame(joinedFrame(parts, mostBytes));
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
        end(`it sent ${error.message}`, true);
      }
    }
  };
  serve().catch((error) => {
    if (!socket.closed) throw error;
  });
  socket.connect(address);
  // libzmq doesn't say that it finds no address for a name, and looks for one again at every attempt.
  lookup(hostOf(address), { family: isIpv6(address) ? 6 : 4 }, (error) => {
    if (error === null || socket.closed || reachedAt > 0) return;
    problem = `no address is known here of the host "${hostOf(address)}" (${error.code}); give its address, or see that its name is known`;
  });
  return {
    send(frame) {
      const parts = partsOf(encodeFrame(frame)); // now, since its payload may be a view of memory that is reused
      return outbox(() => socket.send(parts));
    },
    get problem() {
      return problem;
    },
    get silent() {
      return silent;
    },
    close() {
      problem = 'the connection is closed';
      outbox(async () => socket.close()).catch(() => {});
      setTimeout(() => socket.close(), CLOSING).unref();
    },
  };
}
