import { type Context, Dealer } from 'zeromq';

/** ZMQ_ROUTING_ID; names that libzmq gives are no texts. */
const ROUTING_ID = 5;

class Namesake extends Dealer {
  name(peer: string): void {
    this.setStringOption(ROUTING_ID, Buffer.from(peer, 'latin1'));
  }
}

/** Milliseconds for the router to notice: it does when it next looks at its sockets. */
const NOTICED = 200;

/**
 * Cuts a peer off from a router, for which libzmq has no call of its own: one that takes the peer's name, from inside this
 * process, takes its place (ZMQ_ROUTER_HANDOVER). Nothing that the peer sends reaches the router any more: libzmq stops
 * reading its connection at the next message, and closes it when heartbeats have failed (transport.ts). Peers can't do
 * that to each other: their names are 128 random bits that only both ends know.
 * @param inside an address of the router within the process
 */
export function takeOver(context: Context, inside: string, peer: string): void {
  const namesake = new Namesake({ context, linger: 0 });
  namesake.name(peer);
  namesake.connect(inside);
  setTimeout(() => namesake.close(), NOTICED).unref();
}
