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
  /** Called before a peer is expelled because MOST_DEVICES others are connected. */
  readonly onCrowded?: (peer: string) => void;
  /** Called when a peer's connection is closed, at the latest when heartbeats have failed. */
  readonly onLeft?: (peer: string) => void;
  /** Default: IDLE_SECONDS. */
  readonly idleSeconds?: number;
}

/**
 * ZMQ_ROUTER_NOTIFY (libzmq's draft interface), with ZMQ_NOTIFY_CONNECT and ZMQ_NOTIFY_DISCONNECT: an empty message
 * announces each peer that has connected, after its authentication, and another one that its connection is closed.
 */
const [ROUTER_NOTIFY, NOTIFY_BOTH] = [97, 3];

class AnnouncingRouter extends Router {
  announce(): void {
    this.setInt32Option(ROUTER_NOTIFY, NOTIFY_BOTH);
  }
}

/** Seconds after which a send fails if no peer is left: the binding waits for one. */
const UNREACHABLE = 4;

/** Seconds that a peer may stay connected without belonging here. */
const IDLE_SECONDS = 5;
/** Seconds between checks of idle peers, at most. */
const CHECK_SECONDS = 1;

/** Seconds that a peer may take to be disconnected before that is tried again. */
const LEAVING = 1;

/** Milliseconds between attempts to bind the same port again, and the number of attempts. */
const [REBIND, REBINDS] = [50, 200];

const EMPTY_FRAME = encodeFrame({ kind: 'echo', tag: 0, payload: new Uint8Array(0) });

/** Listens for peers. @throws InputError for an address that can't be bound */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { transport, address, onFrame, onExpelled, idleSeconds = IDLE_SECONDS } = options;
  const { context, log } = transport;
  const socket = openRouter(options);
  const bound = await bind(socket, address);
  const inside = `inproc://${randomBytes(16).toString('hex')}`;
  await socket.bind(inside);
  const outbox = createOutbox(transport.delay);
  const expelled = createExpulsions(context, inside);
  /** When each peer connected, seconds. */
  const connectedAt = new Map<string, number>();
  /** Peers that have left since the last check. One that is still connected has sent an empty message of its own. */
  const left = new Set<string>();
  let lingering = 0;
  /** Peers that are being disconnected: their further frames, which may be many, cause nothing. */
  const leaving = new Set<string>();

  const expel = (peer: string): void => {
    if (leaving.has(peer)) return;
    lingering += 1;
    expelled.add(peer);
    leaving.add(peer);
    // After the reason, which may still be queued.
    outbox(async () => expelled.disconnect(peer)).catch(() => {});
    setTimeout(() => leaving.delete(peer), 1000 * LEAVING).unref();
  };

  /** Only a peer that is still connected receives the reason; libzmq refuses to send to others. */
  const expelConnected = (peer: string, tell: (peer: string) => void): void => {
    connectedAt.delete(peer);
    outbox(() => socket.send([Buffer.from(peer, 'latin1'), EMPTY_FRAME])).then(
      () => {
        tell(peer);
        expel(peer);
      },
      () => {},
    );
  };

  /** An announcement: the peer has connected or, if it was connected, left. */
  const announced = (peer: string): void => {
    if (connectedAt.delete(peer)) {
      left.add(peer);
      options.onLeft?.(peer);
      return;
    }
    connectedAt.set(peer, clock());
    const strangers = [...connectedAt.keys()].filter((one) => !options.belongs(one));
    if (connectedAt.size <= MOST_DEVICES || strangers[0] === undefined) return;
    log(`more than ${MOST_DEVICES} connections to ${options.domain}: the oldest that is no part of a ring is closed`);
    expelConnected(strangers[0], (oldest) => options.onCrowded?.(oldest));
  };

  const receive = (peer: string, parts: readonly Buffer[]): void => {
    const [bytes] = parts;
    const isAnnouncement = bytes?.length === 0 && parts.length === 1;
    if (expelled.has(peer)) {
      if (!isAnnouncement) expel(peer);
      return;
    }
    if (isAnnouncement) {
      announced(peer);
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

  const check = setInterval(() => {
    for (const peer of left) expelConnected(peer, () => onExpelled(peer, 'an empty message'));
    left.clear();
    for (const [peer, since] of connectedAt)
      if (clock() - since >= idleSeconds && !options.belongs(peer))
        expelConnected(peer, () => onExpelled(peer, `nothing within ${idleSeconds} s that identifies it`));
    if (lingering === 0 || [...connectedAt.keys()].some(options.belongs)) return;
    // libzmq keeps the connection of an expelled peer that only answers heartbeats: all connections are closed.
    lingering = 0;
    connectedAt.clear();
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

/** A router that admits peers by `admits`. */
function openRouter({ transport, address, domain, mostBytes, admits }: ListenerOptions): AnnouncingRouter {
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
  for (const event of ['handshake:error:protocol', 'handshake:error:other'] as const)
    socket.events.on(event, ({ error }) => log(`closed a connection to ${domain}: ${error.message}`));
  transport.admit(domain, admits);
  return socket;
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
