import { Dealer } from 'zeromq';
import { decodeFrame } from './decode-frame.ts';
import { encodeFrame } from './encode-frame.ts';
import { type Frame, FrameError } from './frame.ts';
import { createOutbox } from './outbox.ts';
import { SOCKET_OPTIONS, type Transport } from './transport.ts';
import { toZ85 } from './z85.ts';

/** A connection to a listener. */
export interface Connection {
  send(frame: Frame): Promise<void>;
  /** Why there is none yet, or none any more. */
  readonly problem: string;
  close(): void;
}

export interface ConnectionOptions {
  readonly transport: Transport;
  readonly address: string;
  /** Of the listener, hexadecimal; undefined: a plain link. */
  readonly publicKey: string | undefined;
  /** What the listener will know this end by: 32 hexadecimal digits. */
  readonly name: string;
  readonly mostBytes: number;
  /** The peer is there and is who it should be. */
  readonly onReady: () => void;
  /** May throw a FrameError, as for a frame that can't be read: the connection is then closed. */
  readonly onFrame: (frame: Frame) => void;
  /** It was there and is gone, or was closed for what it sent. Called once. */
  readonly onGone: (reason: string) => void;
}

/** Milliseconds between attempts to connect; that what waits to be sent has when the connection is closed. */
const RETRY = 100;
const FAREWELL = 200;

/** Tries to connect until it can, or is closed. */
export function connect(options: ConnectionOptions): Connection {
  const { transport, address, publicKey, name, mostBytes, onReady, onFrame, onGone } = options;
  const { context, keys } = transport;
  const encrypted = keys !== undefined && publicKey !== undefined;
  const socket = new Dealer({
    ...SOCKET_OPTIONS,
    context,
    immediate: true,
    reconnectInterval: RETRY,
    maxMessageSize: mostBytes,
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
  let unknown = false;
  let problem = `nobody listens at ${address}`;
  const outbox = createOutbox(transport.delay);
  const end = (reason: string): void => {
    problem = reason;
    if (socket.closed) return;
    socket.close();
    if (ready) onGone(reason);
  };
  socket.events.on('handshake', () => {
    ready = true;
    problem = '';
    onReady();
  });
  socket.events.on('disconnect', () => {
    if (ready) end('the connection is cut');
    else if (!unknown)
      problem = encrypted ? 'the keys do not match, or only one end uses keys' : 'only one end uses keys';
  });
  socket.events.on('handshake:error:auth', () => {
    unknown = true;
    problem = 'it does not know the public key of this device';
  });
  const serve = async (): Promise<void> => {
    for await (const parts of socket) {
      try {
        const [bytes] = parts;
        if (bytes === undefined || parts.length !== 1) throw new FrameError(`a frame in ${parts.length} parts`);
        onFrame(decodeFrame(bytes));
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
        end(`it sent ${error.message}`);
      }
    }
  };
  serve().catch((error) => {
    if (!socket.closed) throw error;
  });
  socket.connect(address);
  return {
    send(frame) {
      const bytes = encodeFrame(frame); // at once: its payload may be a view of memory that is used again
      return outbox(() => socket.send(bytes));
    },
    get problem() {
      return problem;
    },
    close() {
      // What is to be sent goes first, if it can.
      outbox(async () => socket.close()).catch(() => {});
      setTimeout(() => socket.close(), FAREWELL).unref();
    },
  };
}
