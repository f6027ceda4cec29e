import { type Context, Reply, Context as ZmqContext } from 'zeromq';
import type { KeyPair } from './keys.ts';
import { boundedLog, withoutRepetition } from './log.ts';

/** Resources that the sockets of one device share. */
export interface Transport {
  readonly context: Context;
  /** `undefined`: links are not encrypted. */
  readonly keys: KeyPair | undefined;
  /** Seconds that frames wait before they are sent, in addition to the network's latency. */
  readonly delay: number;
  /** Logs refused and closed connections, bounded in lines and rate (log.ts). */
  readonly log: (line: string) => void;
  /** Sets the rule by which the listener of a domain admits peers. */
  admit(domain: string, rule: Admission): void;
  close(): void;
}

/**
 * Seconds between heartbeats, and seconds without an answer after which a link is cut. libzmq's own thread sends
 * heartbeats, also while a device computes: a device that vanishes is noticed within 3.5 s. Frames go in parts, and each
 * part that arrives counts as an answer, so that a slow link is not taken for a lost device. Behind frames that a peer
 * doesn't take, as they fill the link to a stopped process, no heartbeat is sent; the system cuts that connection when
 * nothing has moved for as long (TCP_USER_TIMEOUT, RFC 5482; on Linux only).
 */
const HEARTBEAT = 1;
export const HEARTBEAT_TIMEOUT = 2.5;

/** Seconds within which a peer must have taken part in a handshake; libzmq then closes the connection. */
export const HANDSHAKE_TIMEOUT = HEARTBEAT_TIMEOUT;

/** Milliseconds for queued frames to be sent when a socket is closed. */
export const CLOSING = 200;

/** Seconds that a send waits for a peer that does not read, and the number of frames that may wait for it. */
export const SEND_TIMEOUT = 10;
const WAITING_FRAMES = 64;

/**
 * The options of every socket: bounded waits, heartbeats, and a moment to send queued frames on closing. The queue of
 * received frames has no bound: where it is full, libzmq 4.3.5 stops reading, and aborts the process at the next
 * heartbeat if the peer has closed its connection meanwhile.
 */
export const SOCKET_OPTIONS = {
  linger: CLOSING,
  heartbeatInterval: 1000 * HEARTBEAT,
  heartbeatTimeout: 1000 * HEARTBEAT_TIMEOUT,
  tcpMaxRetransmitTimeout: 1000 * HEARTBEAT_TIMEOUT,
  handshakeInterval: 1000 * HANDSHAKE_TIMEOUT,
  sendTimeout: 1000 * SEND_TIMEOUT,
  sendHighWaterMark: WAITING_FRAMES,
  receiveHighWaterMark: 0,
} as const;

export function createTransport(keys: KeyPair | undefined, writeLine: (line: string) => void, delay = 0): Transport {
  const log = withoutRepetition(boundedLog(writeLine));
  const context = new ZmqContext({ blocky: false });
  const rules = new Map<string, Admission>();
  let stop: (() => void) | undefined;
  return {
    context,
    keys,
    delay,
    log,
    admit(domain, rule) {
      stop ??= serveAuthentication(context, rules, log);
      rules.set(domain, rule);
    },
    close: () => stop?.(),
  };
}

/**
 * Decides whether a peer may connect: `undefined` if so, otherwise the reason. The key is hexadecimal, and `undefined`
 * on a plain link.
 */
export type Admission = (publicKey: string | undefined) => string | undefined;

/**
 * Answers libzmq's requests to authenticate peers (ZAP, ZeroMQ RFC 27) by the rule of the listener's domain. Plain links
 * are included: with ZAP, libzmq also refuses peers of ZMTP 1.0 and 2.0, from which it would accept any bytes.
 * @returns a function that stops the service
 */
function serveAuthentication(
  context: Context,
  rules: ReadonlyMap<string, Admission>,
  log: (line: string) => void,
): () => void {
  const socket = new Reply({ context, linger: 0 });
  socket.bindSync('inproc://zeromq.zap.01');
  const serve = async (): Promise<void> => {
    for await (const [version, id, domain, address, , mechanism, key] of socket) {
      const publicKey = String(mechanism) === 'CURVE' ? key?.toString('hex') : undefined;
      const rule = rules.get(String(domain));
      const problem = rule === undefined ? `there is no ${domain}` : rule(publicKey);
      if (problem !== undefined) log(`turned away ${address}: ${problem}`);
      const [code, text] = problem === undefined ? ['200', 'OK'] : ['400', 'not admitted'];
      await socket.send([version ?? '', id ?? '', code, text, publicKey ?? '', '']);
    }
  };
  serve().catch((error: Error) => {
    if (!socket.closed) log(`authentication ended: ${error.message}`);
  });
  return () => socket.close();
}
