import { type Context, Context as ZmqContext } from 'zeromq';
import { type Admission, serveAuthentication } from './authentication.ts';
import type { KeyPair } from './keys.ts';
import { seldom } from './seldom.ts';

/** What the sockets of one device have in common. */
export interface Transport {
  readonly context: Context;
  /** Undefined: plain links. */
  readonly keys: KeyPair | undefined;
  /** Seconds that frames wait before they are sent: latency on top of the network's. */
  readonly delay: number;
  /** Of connections that are turned away or closed; the same line only once in a while. */
  readonly log: (line: string) => void;
  /** Says who may connect to the listener of a domain. */
  admit(domain: string, rule: Admission): void;
  close(): void;
}

/**
 * libzmq's own thread sends these, so that they also come from a device that computes. Seconds between heartbeats, and
 * without an answer until a link is cut: a device that is gone without a word is known after 3.5 s at most.
 */
const HEARTBEAT = 1;
const SILENCE = 2.5;

/** Seconds that a send may wait for a peer that doesn't read; frames that may wait for it. */
const SEND_PATIENCE = 10;
const WAITING_FRAMES = 64;

/** Options of every socket: bounded queues, bounded waits, heartbeats, nothing left behind when it is closed. */
export const SOCKET_OPTIONS = {
  linger: 200, // a farewell is sent, if it can be
  heartbeatInterval: 1000 * HEARTBEAT,
  heartbeatTimeout: 1000 * SILENCE,
  handshakeInterval: 1000 * SILENCE,
  sendTimeout: 1000 * SEND_PATIENCE,
  sendHighWaterMark: WAITING_FRAMES,
  receiveHighWaterMark: WAITING_FRAMES,
} as const;

export function createTransport(keys: KeyPair | undefined, tell: (line: string) => void, delay = 0): Transport {
  const log = seldom(tell);
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
