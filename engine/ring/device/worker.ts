import { nextPort, portOf } from '../wire/address.ts';
import { clock } from '../wire/clock.ts';
import { type Frame, mostFrameBytes } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import type { KeyPair } from '../wire/keys.ts';
import { type Listener, type ListenerOptions, listen } from '../wire/listener.ts';
import { boundedLog } from '../wire/log.ts';
import type { HeadMessage, WorkerMessage } from '../wire/message.ts';
import { HEAD_MESSAGE, messageFrame, readMessage } from '../wire/parse-message.ts';
import type { Admission } from '../wire/transport.ts';
import { createTransport } from '../wire/transport.ts';
import type { RingGpu } from './device-part.ts';
import type { LoadedPart } from './loaded-part.ts';
import { createServedHead } from './served-head.ts';
import { createWorkerSession } from './session.ts';

export interface WorkerOptions {
  readonly loaded: LoadedPart;
  /** The GPU that it computes on in addition to its CPU. */
  readonly gpu: RingGpu | undefined;
  /**
   * Address for heads, `tcp://host:port`. Other devices of the ring connect to the next port, or to any free one for *.
   */
  readonly address: string;
  /** `undefined`: links are not encrypted and any head is served. */
  readonly keys: KeyPair | undefined;
  /** Public keys of the heads that are served. */
  readonly heads: readonly string[];
  /** Memory for weights and KV caches, bytes. */
  readonly memory: number;
  /** Memory of the whole process, or the RAM, bytes. */
  readonly memoryLimit: number;
  /** This device as in a cluster file, JSON. */
  readonly profile: (fresh: boolean) => Promise<string>;
  /** Seconds that results wait before they are sent; default 0. */
  readonly linkDelay?: number;
  /** Seconds that a silent peer may stay connected (wire/listener.ts). */
  readonly idleSeconds?: number;
  readonly log: (line: string) => void;
}

export interface RunningWorker {
  readonly address: string;
  /** Rejects with a WeightsLostError if its file can't be read any more; it then serves nobody. */
  readonly lost: Promise<never>;
  close(): Promise<void>;
}

/** Seconds between checks that the head is still connected. */
const CHECK_SECONDS = 1;

/**
 * Starts a worker. It serves one head at a time and runs windows of the model that it has loaded under the plan that
 * the head sends. When a head disconnects for any reason, all memory of its requests is freed.
 * @throws InputError for an address at which it can't listen
 */
export async function startWorker(asked: WorkerOptions): Promise<RunningWorker> {
  const options = { ...asked, log: boundedLog(asked.log) };
  const { loaded, keys, heads, log, idleSeconds } = options;
  const ringAddress = nextPort(options.address);
  const transport = createTransport(keys, log, options.linkDelay);
  const mostBytes = mostFrameBytes(loaded.part.model, loaded.part.mostTokens);
  const tell = (peer: string, message: WorkerMessage): Promise<void> => control.send(peer, messageFrame(message));
  let unable: string | undefined;
  let lose: (error: Error) => void = () => {};
  const lost = new Promise<never>((_, reject) => {
    lose = reject;
  });
  lost.catch(() => {}); // callers may ignore it
  const served = createServedHead({
    ...options,
    tell,
    unable: () => unable,
    ringPort: () => portOf(ring.address),
    startSession: (headLink) =>
      createWorkerSession({
        ...options,
        transport,
        mostBytes,
        headLink,
        sendToHead: (frame) => control.send(headLink, frame),
        onUnable(reason) {
          unable = reason;
        },
        onWeightsLost: lose,
      }),
  });

  let beginServing = (): void => {};
  /** A head may greet before there is a listener for its other devices, and waits for that. */
  const listening = new Promise<void>((resolve) => {
    beginServing = resolve;
  });
  /** The connections that have sent a greeting. */
  const greeted = new Set<string>();

  const onHeadFrame = (peer: string, frame: Frame): void => {
    const session = served.heard(peer);
    if (session !== undefined && frame.kind === 'probe') echo(control, peer, frame.tag);
    else if (session !== undefined && frame.kind === 'activations') session.onActivations(frame, peer);
    else if (session !== undefined && frame.kind === 'sums') session.onSums(frame, peer);
    else if (session !== undefined && frame.kind === 'experts') session.onExperts(frame);
    else onHeadMessage(peer, readMessage(frame, HEAD_MESSAGE));
  };

  const onHeadMessage = (peer: string, message: HeadMessage): void => {
    if (message.kind === 'hello') {
      // A peer that asked again and again without reading the answers would hold up those to others.
      if (greeted.has(peer)) throw new FrameError('a second greeting');
      greeted.add(peer);
      listening.then(() => served.greet(peer, message));
      return;
    }
    // Messages of a dismissed head may still arrive.
    if (served.nameOf(peer) === undefined) return;
    if (message.kind === 'clock') {
      tell(peer, { ...message, at: clock() }).catch(() => {});
      return;
    }
    served.session?.onMessage(message);
    if (message.kind === 'bye') served.dismiss('has finished');
  };

  const onRingFrame = (peer: string, frame: Frame): void => {
    if (frame.kind === 'probe') {
      if (served.session?.receivesFrom(peer)) echo(ring, peer, frame.tag);
    } else if (frame.kind === 'activations') served.session?.onActivations(frame, peer);
    else if (frame.kind === 'sums') served.session?.onSums(frame, peer);
    else
      throw new FrameError(
        `a frame of kind ${frame.kind} at the port for other devices; heads connect at ${control.address}`,
      );
  };

  const onExpelled = (peer: string, reason: string): void => {
    greeted.delete(peer); // it isn't heard again
    const head = served.nameOf(peer);
    log(`cuts off ${head ?? 'a peer'}: it sent ${reason}`);
    if (head !== undefined) served.dismiss('sent an invalid message');
    refuse(control, peer, reason);
  };

  const open: { close(): void }[] = [transport];
  const listenOrClose = async (
    listener: Omit<ListenerOptions, 'transport' | 'mostBytes' | 'idleSeconds'>,
  ): Promise<Listener> => {
    try {
      const idle = idleSeconds === undefined ? {} : { idleSeconds };
      const listening = await listen({ ...listener, transport, mostBytes, ...idle });
      open.push(listening);
      return listening;
    } catch (error) {
      for (const one of open) one.close();
      throw error;
    }
  };
  const control: Listener = await listenOrClose({
    address: options.address,
    domain: 'heads',
    admits: admission(keys, (key) => heads.includes(key)),
    belongs: (peer) => served.nameOf(peer) !== undefined,
    onFrame: onHeadFrame,
    onExpelled,
    onCrowded(peer) {
      greeted.delete(peer);
      tell(peer, { kind: 'crowded' }).catch(() => {});
    },
    onLeft(peer) {
      greeted.delete(peer);
      served.left(peer);
    },
  });
  const ring: Listener = await listenOrClose({
    address: ringAddress,
    remedy: 'a worker takes the port after its own as well, for other devices: choose another for it',
    domain: 'ring',
    admits: admission(keys, (key) => served.session?.expects(key) ?? false),
    belongs: (peer) => served.session?.receivesFrom(peer) ?? false,
    onFrame: onRingFrame,
    onExpelled(peer, reason) {
      log(`cuts off a device of the ring: it sent ${reason}`);
      // The head then leaves it out; if it were told, it would say that this device is lost.
      if (served.session?.accuse(peer, reason) !== true) refuse(ring, peer, reason);
    },
  });
  beginServing();
  const checks = setInterval(served.check, 1000 * CHECK_SECONDS);

  return {
    address: control.address,
    lost,
    async close() {
      clearInterval(checks);
      await served.dismiss('is disconnected, since this worker ends');
      for (const one of open) one.close();
    },
  };
}

/** Admits every peer if links are not encrypted, otherwise peers whose keys are known. */
function admission(keys: KeyPair | undefined, known: (publicKey: string) => boolean): Admission {
  return (publicKey) =>
    keys === undefined || (publicKey !== undefined && known(publicKey))
      ? undefined
      : `its public key ${publicKey} is not known`;
}

/** Tells a peer that nothing more is heard of it; an honest one then closes its connection. */
function refuse(listener: Listener, peer: string, reason: string): void {
  listener.send(peer, messageFrame({ kind: 'refused', reason: `it was sent ${reason}` })).catch(() => {});
}

function echo(listener: Listener, peer: string, tag: number): void {
  listener.send(peer, { kind: 'echo', tag, payload: new Uint8Array(0) }).catch(() => {});
}
