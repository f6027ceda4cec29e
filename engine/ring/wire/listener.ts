import { randomBytes } from 'node:crypto';
import { Router } from 'zeromq';
import { InputError } from '../../input/input-error.ts';
import { isIpv6, MOST_DEVICES } from './address.ts';
import { clock } from './clock.ts';
import { encodeFrame, type Frame, joinedFrame, MOST_PART_BYTES, partsOf } from './frame.ts';
import { FrameError } from './frame-error.ts';
import { createOutbox } from './job-queue.ts';
import { toZ85 } from './keys.ts';
import { type Admission, CLOSING, SOCKET_OPTIONS, type Transport } from './transport.ts';

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
  /** Advice for when the address can't be bound. */
  readonly remedy?: string;
  /** The listener's name in authentication and in logs. */
  readonly domain: string;
  readonly admits: Admission;
  /** The longest frame, bytes; libzmq closes the connection of a peer that sends a longer part of one than MOST_PART_BYTES. */
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
 * ZMQ_ROUTER_NOTIFY and ZMQ_DISCONNECT_MSG (libzmq's draft interface): an empty message announces each peer that has
 * connected, after its authentication; a message that nobody else knows, and therefore nobody sends, that it has left.
 */
const [ROUTER_NOTIFY, NOTIFY_CONNECT, DISCONNECT_MESSAGE] = [97, 1, 111];

class AnnouncingRouter extends Router {
  announce(leaving: Buffer): void {
    this.setInt32Option(ROUTER_NOTIFY, NOTIFY_CONNECT);
    this.setStringOption(DISCONNECT_MESSAGE, leaving);
  }
}

/** Seconds after which a send fails if no peer is left: the binding waits for one. */
const UNREACHABLE = 4;

/** Seconds that a peer may stay connected without belonging here. */
const IDLE_SECONDS = 5;
/** Seconds between checks of idle peers, at most. */
const CHECK_SECONDS = 1;

/**
 * Listens for peers. Nothing more is heard of an expelled peer. Honest ones then close their connections, and those of
 * peers that answer no heartbeats are closed; others stay open, since libzmq 4.3.5 can't close a single connection: the
 * usual way, by a connection that takes over the peer's name (ZMQ_ROUTER_HANDOVER), aborts the process if the peer
 * resets its own just then.
 * @throws InputError for an address that can't be bound
 */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { transport, belongs, onFrame, onExpelled, idleSeconds = IDLE_SECONDS } = options;
  const { log } = transport;
  const leaving = randomBytes(16);
  const socket = openRouter(options, leaving);
  const bound = await bind(socket, options);
  const outbox = createOutbox(transport.delay);
  /** When each peer connected, seconds. */
  const connectedAt = new Map<string, number>();
  /** Expelled peers that are still connected. */
  const deaf = new Set<string>();

  const expel = (peer: string): void => {
    connectedAt.delete(peer);
    deaf.add(peer);
  };

  const connected = (peer: string): void => {
    connectedAt.set(peer, clock());
    if (connectedAt.size <= MOST_DEVICES) return;
    const stranger = [...connectedAt.keys()].find((one) => !belongs(one));
    if (stranger === undefined) return;
    log(`more than ${MOST_DEVICES} connections to ${options.domain}: the oldest that isn’t part of a ring is closed`);
    options.onCrowded?.(stranger);
    expel(stranger);
  };

  const hear = (peer: string, parts: readonly Buffer[]): void => {
    try {
      onFrame(peer, joinedFrame(parts, options.mostBytes));
    } catch (error) {
      const { message, stack } = error as Error;
      // Whatever a peer sends costs at most its own connection.
      if (!(error instanceof FrameError)) log(`failed at what a peer sent: ${stack}`);
      onExpelled(peer, error instanceof FrameError ? message : `what failed here: ${message}`);
      expel(peer);
    }
  };

  const receive = (peer: string, parts: readonly Buffer[]): void => {
    if (parts[0]?.equals(leaving)) {
      deaf.delete(peer);
      if (connectedAt.delete(peer)) options.onLeft?.(peer);
    } else if (connectedAt.has(peer)) hear(peer, parts);
    else if (!deaf.has(peer)) connected(peer);
  };

  const check = setInterval(() => {
    for (const [peer, since] of [...connectedAt])
      if (clock() - since >= idleSeconds && !belongs(peer)) {
        onExpelled(peer, `nothing within ${idleSeconds} s that identifies it`);
        expel(peer);
      }
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
      const parts = partsOf(encodeFrame(frame)); // now, since its payload may be a view of memory that is reused
      return outbox(() => socket.send([Buffer.from(peer, 'latin1'), ...parts]));
    },
    close() {
      clearInterval(check);
      outbox(async () => socket.close()).catch(() => {});
      setTimeout(() => socket.close(), CLOSING).unref();
    },
  };
}

/** A router that admits peers by `admits`. A name that is taken stays with the peer that has it. */
function openRouter({ transport, address, domain, admits }: ListenerOptions, leaving: Buffer): Router {
  const { context, keys, log } = transport;
  const socket = new AnnouncingRouter({
    ...SOCKET_OPTIONS,
    context,
    ipv6: isIpv6(address),
    mandatory: true,
    sendTimeout: 1000 * UNREACHABLE,
    maxMessageSize: MOST_PART_BYTES,
    zapDomain: domain,
    ...(keys === undefined ? {} : { curveServer: true, curveSecretKey: toZ85(keys.secretKey) }),
  });
  socket.announce(leaving);
  for (const event of ['handshake:error:protocol', 'handshake:error:other'] as const)
    socket.events.on(event, ({ error }) => log(`closed a connection to ${domain}: ${error.message}`));
  transport.admit(domain, admits);
  return socket;
}

/** @returns the address with the port that was chosen */
async function bind(
  socket: Router,
  { address, remedy = 'give an address of this machine and a free port' }: Pick<ListenerOptions, 'address' | 'remedy'>,
): Promise<string> {
  try {
    await socket.bind(address);
  } catch (error) {
    socket.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new InputError(address, `can’t be listened at (${reason}); ${remedy}`);
  }
  return socket.lastEndpoint ?? address;
}
