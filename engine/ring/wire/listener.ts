import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Router } from 'zeromq';
import { InputError } from '../../input/input-error.ts';
import { isIpv6, MOST_DEVICES } from './address.ts';
import { clock } from './clock.ts';
import { createExpulsions } from './expulsion.ts';
import { decodeFrame, encodeFrame, type Frame, FrameError } from './frame.ts';
import { createOutbox } from './job-queue.ts';
import { toZ85 } from './keys.ts';
import type { Admission } from './transport.ts';
import { SOCKET_OPTIONS, type Transport } from './transport.ts';

/** An address at which peers connect. A peer is known by the random name that it chose for its connection. */
export interface Listener {
  /** The address, with the port that was chosen. */
  readonly address: string;
  /** Rejects if the peer is gone. */
  send(peer: string, frame: Frame): Promise<void>;
  close(): void;
}

export interface ListenerOptions {
  readonly transport: Transport;
  /** `tcp://host:port`; port * for any free port. */
  readonly address: string;
  /** The listener's name in authentication and in logs. */
  readonly domain: string;
  readonly admits: Admission;
  /** The longest frame, bytes; libzmq closes the connection of a peer that sends a longer one. */
  readonly mostBytes: number;
  /** May throw a FrameError, which expels the peer, as does a frame that can't be decoded. */
  readonly onFrame: (peer: string, frame: Frame) => void;
  /** Whether a peer may stay connected. A peer for which this is false `idleSeconds` after it connected is expelled. */
  readonly belongs: (peer: string) => boolean;
  /** Called before a peer is expelled; messages sent to the peer now still reach it. */
  readonly onExpelled: (peer: string, reason: string) => void;
  /** Called when some peer's connection is closed; libzmq doesn't say whose. */
  readonly onDisconnect?: () => void;
  /** Default: IDLE_SECONDS. */
  readonly idleSeconds?: number;
}

/** ZMQ_ROUTER_NOTIFY (libzmq's draft interface) and ZMQ_NOTIFY_CONNECT: an empty message announces each new peer. */
const [ROUTER_NOTIFY, NOTIFY_CONNECT] = [97, 1];

class AnnouncingRouter extends Router {
  announce(): void {
    this.setInt32Option(ROUTER_NOTIFY, NOTIFY_CONNECT);
  }
}

/** Seconds after which a send fails if no peer is left: the binding waits for one. */
const UNREACHABLE = 4;

/** Seconds that a peer may stay connected without belonging here. */
const IDLE_SECONDS = 5;
/** Seconds between checks of idle peers, at most. */
const CHECK_SECONDS = 1;

/** Milliseconds between attempts to bind the same port again, and the number of attempts. */
const [REBIND, REBINDS] = [50, 200];

const EMPTY_FRAME = encodeFrame({ kind: 'echo', tag: 0, payload: new Uint8Array(0) });

/** Listens for peers. @throws InputError for an address that can't be bound */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { transport, address, onFrame, onExpelled, idleSeconds = IDLE_SECONDS } = options;
  const { context, log } = transport;
  const { socket, connections } = openRouter(options);
  const bound = await bind(socket, address);
  const inside = `inproc://${randomBytes(16).toString('hex')}`;
  await socket.bind(inside);
  const outbox = createOutbox(transport.delay);
  const expelled = createExpulsions(context, inside);
  /** When each peer connected, seconds. */
  const connectedAt = new Map<string, number>();
  let lingering = 0;

  const expel = (peer: string): void => {
    lingering += 1;
    expelled.add(peer);
    outbox(async () => expelled.disconnect(peer)).catch(() => {}); // after the reason, which may still be queued
  };

  const receive = (peer: string, parts: readonly Buffer[]): void => {
    if (expelled.has(peer)) {
      expel(peer);
      return;
    }
    const [bytes] = parts;
    if (bytes?.length === 0 && parts.length === 1 && !connectedAt.has(peer)) {
      connectedAt.set(peer, clock());
      return;
    }
    try {
      if (bytes === undefined || parts.length !== 1) throw new FrameError(`a frame in ${parts.length} parts`);
      onFrame(peer, decodeFrame(bytes));
    } catch (error) {
      const { message, stack } = error as Error;
      // Whatever a peer sends costs at most its own connection.
      if (!(error instanceof FrameError)) log(`failed at what a peer sent: ${stack}`);
      onExpelled(peer, error instanceof FrameError ? message : `what failed here: ${message}`);
      expel(peer);
    }
  };

  const expelIdle = (peer: string): void => {
    connectedAt.delete(peer);
    // Only a peer that is still connected receives this; libzmq refuses to send to others.
    outbox(() => socket.send([Buffer.from(peer, 'latin1'), EMPTY_FRAME])).then(
      () => {
        onExpelled(peer, `nothing within ${idleSeconds} s that identifies it`);
        expel(peer);
      },
      () => {},
    );
  };

  const check = setInterval(() => {
    for (const [peer, since] of connectedAt)
      if (clock() - since >= idleSeconds && !options.belongs(peer)) expelIdle(peer);
    if (lingering === 0 || [...connectedAt.keys()].some(options.belongs)) return;
    // libzmq keeps the connection of an expelled peer that only answers heartbeats: all connections are closed.
    lingering = 0;
    connectedAt.clear();
    connections.reset();
    rebind(socket, bound).catch((error: Error) => log(`${address} is no longer listened at: ${error.message}`));
  }, 1000 * Math.min(CHECK_SECONDS, idleSeconds));

  const serve = async (): Promise<void> => {
    for (;;) {
      const [peer, ...parts] = await socket.receive();
      receive((peer as Buffer).toString('latin1'), parts);
    }
  };
  serve().catch((error) => {
    if (!socket.closed) throw error;
  });

  return {
    address: bound,
    send(peer, frame) {
      const bytes = encodeFrame(frame); // now, since its payload may be a view of memory that is reused
      return outbox(() => socket.send([Buffer.from(peer, 'latin1'), bytes]));
    },
    close() {
      clearInterval(check);
      socket.close();
    },
  };
}

/** A router that admits peers by `admits`, and at most MOST_DEVICES of them. */
function openRouter({ transport, address, domain, mostBytes, admits, onDisconnect }: ListenerOptions) {
  const { context, keys, log } = transport;
  const socket = new AnnouncingRouter({
    ...SOCKET_OPTIONS,
    context,
    ipv6: isIpv6(address),
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
    onDisconnect?.();
  });
  for (const event of ['handshake:error:protocol', 'handshake:error:other'] as const)
    socket.events.on(event, ({ error }) => log(`closed a connection to ${domain}: ${error.message}`));
  transport.admit(domain, (publicKey) =>
    open > MOST_DEVICES ? `${MOST_DEVICES} connections to ${domain} are open` : admits(publicKey),
  );
  const reset = (): void => {
    open = 0;
  };
  return { socket, connections: { reset } };
}

/** @returns the address with the port that was chosen */
async function bind(socket: Router, address: string): Promise<string> {
  try {
    await socket.bind(address);
  } catch (error) {
    socket.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(address, `can't be listened at (${reason}); give an address of this machine and a free port`);
  }
  return socket.lastEndpoint ?? address;
}

/** Closes all connections and listens at the same port again, which becomes free a moment later. */
async function rebind(socket: Router, address: string): Promise<void> {
  await socket.unbind(address);
  for (let attempt = 1; !socket.closed; attempt++) {
    try {
      return await socket.bind(address);
    } catch (error) {
      if (attempt === REBINDS) throw error;
      await sleep(REBIND);
    }
  }
}
