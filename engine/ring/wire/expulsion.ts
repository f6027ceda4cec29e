import { type Context, Dealer } from 'zeromq';

/** ZMQ_ROUTING_ID; the names that libzmq chooses are binary. */
const ROUTING_ID = 5;

class NamedDealer extends Dealer {
  name(peer: string): void {
    this.setStringOption(ROUTING_ID, Buffer.from(peer, 'latin1'));
  }
}

/** Milliseconds until the router notices the new connection, when it next polls its sockets. */
const HANDOVER = 200;

/** Most expelled peers that are remembered. Each of them had been admitted before. */
const MOST_EXPELLED = 10_000;

/** The peers that a listener has expelled. */
export interface Expulsions {
  has(peer: string): boolean;
  add(peer: string): void;
  /** Cuts the peer's connection. */
  disconnect(peer: string): void;
}

/**
 * libzmq has no call that disconnects one peer of a router. A connection from inside the process takes over the peer's
 * name instead (ZMQ_ROUTER_HANDOVER): nothing that the peer sends reaches the router any more, libzmq stops reading its
 * connection at the next message, and closes it when heartbeats have failed. Peers can't do that to each other, since
 * their names are 128 random bits that only the two ends know.
 * @param inside an address of the router within the process
 */
export function createExpulsions(context: Context, inside: string): Expulsions {
  const expelled = new Set<string>();
  return {
    has: (peer) => expelled.has(peer),
    add(peer) {
      if (expelled.size >= MOST_EXPELLED) expelled.clear();
      expelled.add(peer);
    },
    disconnect(peer) {
      const successor = new NamedDealer({ context, linger: 0 });
      successor.name(peer);
      successor.connect(inside);
      setTimeout(() => successor.close(), HANDOVER).unref();
    },
  };
}
