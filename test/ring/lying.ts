import { Dealer, type MessageLike, Router } from 'zeromq';
import { type ActivationFrame, encodeFrame, joinedFrame, partsOf } from '../../engine/ring/wire/frame.ts';

/** A liar's message in place of a result. */
export type Lie = (frame: ActivationFrame) => readonly ActivationFrame[] | Promise<readonly ActivationFrame[]>;

/** Magic, version and kind of activations, as frame.ts writes them. */
const isActivations = (part: Buffer): boolean => part.toString('latin1', 0, 4) === 'HRTH' && part[6] === 1;

/**
 * Makes sockets of this process lie about results: those by which workers answer their head, or those by which devices
 * send to the next one. @returns a function that ends it
 */
export function lie(through: 'to the head' | 'to devices', about: Lie): () => void {
  const sockets = through === 'to the head' ? Router.prototype : Dealer.prototype;
  const { send } = sockets;
  async function sendLies(this: Router & Dealer, message: MessageLike | MessageLike[]): Promise<void> {
    const parts = (Array.isArray(message) ? message : [message]) as MessageLike[];
    const [address, frame] = through === 'to the head' ? [parts.slice(0, 1), parts.slice(1)] : [[], parts];
    const first = frame[0];
    if (!(first instanceof Buffer) || !isActivations(first)) return await send.call(this, message);
    const told = await about(joinedFrame(frame as Buffer[], Number.MAX_SAFE_INTEGER) as ActivationFrame);
    for (const one of told) await send.call(this, [...address, ...partsOf(encodeFrame(one))]);
  }
  Object.defineProperty(sockets, 'send', { value: sendLies, configurable: true });
  return () => {
    Reflect.deleteProperty(sockets, 'send'); // the inherited one is back
  };
}
