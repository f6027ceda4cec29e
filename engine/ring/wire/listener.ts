import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Router } from 'zeromq';
import { InputError } from '../../input/input-error.ts';
import type { Admission } from './authentication.ts';
import { clock } from './clock.ts';
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
  /** What it is called where it turns peers away. */
  readonly domain: string;
  readonly admits: Admission;
  /** The longest frame, bytes; libzmq cuts the connection of who sends a longer one. */
  readonly mostBytes: number;
  /** May throw a FrameError, as for a frame that can't be read: the peer is then cut off (take-over.ts). */
  readonly onFrame: (peer: string, frame: Frame) => void;
  /** Whether a peer has a reason to be here. One that has none a while after it came is cut off. */
  readonly belongs: (peer: string) => boolean;
  /** What is sent to the peer now still reaches it. */
  readonly onExpelled: (peer: string, reason: string) => void;
}

/** ZMQ_ROUTER_NOTIFY, of libzmq's draft interface, and ZMQ_NOTIFY_CONNECT: who connects is told by an empty message. */
const [ROUTER_NOTIFY, ON_CONNECT] = [97, 1];

class AnnouncingRouter extends Router {
  announce(): void {
    this.setInt32Option(ROUTER_NOTIFY, ON_CONNECT);
  }
}

/** Seconds after which a send fails where no peer at all is left: the binding waits for one, libzmq tells at once else. */
const UNREACHABLE = 4;

/** Connections at once, more than a ring has devices: each takes a file descriptor, of which processes have some 1000. */
export const MOST_CONNECTIONS = 64;

/** Seconds after which a peer must have a reason to be here; between looks at that. */
export const PATIENCE = 5;
const LOOK = 1;

/** Milliseconds between attempts to listen again at the same port, and their number. */
const [REBIND, REBINDS] = [50, 200];

/** Says nothing. */
const NOTHING = encodeFrame({ kind: 'echo', tag: 0, payload: new Uint8Array(0) });

/** Peers that are remembered as expelled, should they come back; each of them had to be let in before. */
const MOST_EXPELLED = 10_000;

/** @throws InputError where the address can't be listened at */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { transport, address, domain, mostBytes, onFrame, onExpelled } = options;
  const { context, keys, log } = transport;
  const socket = new AnnouncingRouter({
    ...SOCKET_OPTIONS,
    context,
    mandatory: true,
    handover: true,
    sendTimeout: 1000 * UNREACHABLE,
    maxMessageSize: mostBytes,
    zapDomain: domain,
    ...(keys === undefined ? {} : { curveServer: true, curveSecretKey: toZ85(keys.secretKey) }),
  });
  socket.announce();
  let open = 0;
  socket.events.on('accept', () => {
    open += 1;
  });
  socket.events.on('disconnect', () => {
    open = Math.max(0, open - 1);
  });
  for (const event of ['handshake:error:protocol', 'handshake:error:other'] as const)
    socket.events.on(event, ({ error }) => log(`closed a connection to ${domain}: ${error.message}`));
  transport.admit(domain, (publicKey) =>
    open > MOST_CONNECTIONS ? `${MOST_CONNECTIONS} connections to ${domain} are open` : options.admits(publicKey),
  );
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
  let strays = 0;
  const expel = (peer: string): void => {
    strays += 1;
    if (expelled.size >= MOST_EXPELLED) expelled.clear();
    expelled.add(peer);
    // After what is to be sent: the reason.
    outbox(async () => takeOver(context, inside, peer)).catch(() => {});
  };
  const came = new Map<string, number>();
  const hear = (peer: string, parts: readonly Buffer[]): void => {
    if (expelled.has(peer)) {
      expel(peer);
      return;
    }
    const [bytes] = parts;
    if (bytes?.length === 0 && parts.length === 1 && !came.has(peer)) {
      came.set(peer, clock());
      return;
    }
    try {
      if (bytes === undefined || parts.length !== 1) throw new FrameError(`a frame in ${parts.length} parts`);
      onFrame(peer, decodeFrame(bytes));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      onExpelled(peer, error.message);
      expel(peer);
    }
  };
  /** Closes all connections. libzmq doesn't close the one of an expelled peer that only answers heartbeats otherwise. */
  const renew = async (): Promise<void> => {
    await socket.unbind(bound);
    open = 0;
    came.clear();
    // The port is free again a moment later.
    for (let attempt = 1; !socket.closed; attempt++) {
      try {
        return await socket.bind(bound);
      } catch (error) {
        if (attempt === REBINDS) throw error;
        await sleep(REBIND);
      }
    }
  };
  const look = setInterval(() => {
    for (const [peer, since] of came) {
      if (clock() - since < PATIENCE || options.belongs(peer)) continue;
      came.delete(peer);
      // Reaches one that is there; libzmq refuses to send to one that has gone.
      outbox(() => socket.send([Buffer.from(peer, 'latin1'), NOTHING])).then(
        () => {
          onExpelled(peer, `nothing for ${PATIENCE} s for which it may stay`);
          expel(peer);
        },
        () => {},
      );
    }
    if (strays > 0 && ![...came.keys()].some(options.belongs)) {
      strays = 0;
      renew().catch((error: Error) => log(`${address} can't be listened at any more: ${error.message}`));
    }
  }, 1000 * LOOK);
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
    close() {
      clearInterval(look);
      socket.close();
    },
  };
}
