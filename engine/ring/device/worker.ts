import { InputError } from '../../input/input-error.ts';
import { formatSeconds } from '../../terminal/format.ts';
import { clock } from '../wire/clock.ts';
import { type Frame, FrameError, HEADER_BYTES, MOST_MESSAGE_BYTES } from '../wire/frame.ts';
import type { KeyPair } from '../wire/keys.ts';
import { type Listener, listen } from '../wire/listener.ts';
import type { HeadMessage, WorkerMessage } from '../wire/message.ts';
import { HEAD_MESSAGE } from '../wire/message-encoding.ts';
import { messageFrame, readMessage } from '../wire/message-frame.ts';
import { createTransport } from '../wire/transport.ts';
import type { LoadedPart } from './loaded-part.ts';
import { createWorkerSession, type WorkerSession } from './session.ts';

export interface WorkerOptions {
  readonly loaded: LoadedPart;
  /** Where heads connect, `tcp://host:port`; other devices of the ring connect to the next port (or any, for *). */
  readonly address: string;
  /** Undefined: plain links, and any head. */
  readonly keys: KeyPair | undefined;
  /** Public keys of the heads that it serves. */
  readonly heads: readonly string[];
  /** Bytes that weights and KV caches may take. */
  readonly memory: number;
  /** What it knows or finds out of this device: facts as in a cluster file, JSON. */
  readonly profile: () => Promise<string>;
  /** Seconds that results wait before they are sent; 0 unless given. */
  readonly linkDelay?: number;
  readonly log: (line: string) => void;
}

export interface RunningWorker {
  readonly address: string;
  close(): Promise<void>;
}

/** Seconds between looks at whether the head is there; for which a head that is there may say nothing. */
const TICK = 1;
const HEAD_SILENCE = 30;

interface Served {
  readonly peer: string;
  readonly head: string;
  readonly since: number;
  lastHeard: number;
  readonly session: WorkerSession;
}

/**
 * Serves one head at a time: computes windows of layers of the model that it has loaded, under the plan that the head
 * gives it. Whatever a head leaves behind is freed when it goes, however it goes.
 * @throws InputError where it can't listen
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { loaded, keys, heads, memory, log } = options;
  const ringAddress = nextPort(options.address);
  const transport = createTransport(keys, log, options.linkDelay);
  const { hiddenSize } = loaded.part.model;
  const mostBytes = HEADER_BYTES + Math.max(MOST_MESSAGE_BYTES, 4 * hiddenSize * loaded.part.mostTokens);
  let served: Served | undefined;
  const admits = (known: (publicKey: string) => boolean) => (publicKey: string | undefined) =>
    keys === undefined || (publicKey !== undefined && known(publicKey))
      ? undefined
      : `its public key ${publicKey} is not known`;

  const tell = (peer: string, message: WorkerMessage): Promise<void> => control.send(peer, messageFrame(message));
  const dismiss = async (reason: string): Promise<void> => {
    const old = served;
    served = undefined;
    if (old === undefined) return;
    await old.session.end();
    log(`${old.head}: ${reason}; its memory is freed`);
  };

  const greet = async (peer: string, { head, model }: Extract<HeadMessage, { kind: 'hello' }>): Promise<void> => {
    const present = served;
    // One that died may not have been missed yet.
    if (present !== undefined)
      await tell(present.peer, { kind: 'clock', sentAt: 0, at: clock() }).catch(() => dismiss('is gone'));
    const refuse = (reason: string): Promise<void> => {
      log(`refused ${head}: ${reason}`);
      return tell(peer, { kind: 'refused', reason }).catch(() => {});
    };
    if (served !== undefined) {
      const time = formatSeconds(clock() - served.since);
      return refuse(`it serves the head ${served.head} since ${time}; try again when that has finished`);
    }
    if (model !== loaded.identity)
      return refuse(
        `it has another model, ${loaded.part.model.name}: its header differs; give it the head's file or a part of it`,
      );
    const session = createWorkerSession({
      transport,
      loaded,
      memory,
      mostBytes,
      headLink: peer,
      profile: options.profile,
      sendToHead: (frame) => control.send(peer, frame),
      log,
    });
    served = { peer, head, since: clock(), lastHeard: clock(), session };
    log(`serves ${head}`);
    const ringPort = Number(new URL(ring.address).port);
    await tell(peer, {
      kind: 'welcome',
      ringPort,
      memory,
      layers: loaded.held.layers,
      samples: [...loaded.samples],
    }).catch(() => {});
  };

  const onHeadFrame = (peer: string, frame: Frame): void => {
    const own = served?.peer === peer ? served : undefined;
    if (own !== undefined) own.lastHeard = clock();
    if (frame.kind === 'probe' && own !== undefined) echo(control, peer, frame.tag);
    else if (frame.kind === 'activations' && own !== undefined) own.session.onActivations(frame, peer);
    else onHeadMessage(peer, readMessage(frame, HEAD_MESSAGE), own);
  };

  const onHeadMessage = (peer: string, message: HeadMessage, own: Served | undefined): void => {
    if (message.kind === 'hello') {
      greet(peer, message);
      return;
    }
    // What a dismissed head had under way.
    if (own === undefined) return;
    if (message.kind === 'clock') {
      tell(peer, { ...message, at: clock() }).catch(() => {});
      return;
    }
    own.session.onMessage(message);
    if (message.kind === 'bye') dismiss('has finished');
  };

  const onRingFrame = (peer: string, frame: Frame): void => {
    if (frame.kind === 'probe') echo(ring, peer, frame.tag);
    else if (frame.kind === 'activations') served?.session.onActivations(frame, peer);
    else throw new FrameError(`a frame of kind ${frame.kind} from another device`);
  };

  const onExpelled = (peer: string, reason: string): void => {
    log(`cuts off ${served?.peer === peer ? served.head : 'a peer'}: it sent ${reason}`);
    if (served?.peer === peer) dismiss('sent what no head sends');
    control.send(peer, messageFrame({ kind: 'refused', reason: `it was sent ${reason}` })).catch(() => {});
  };

  const common = { transport, mostBytes };
  const control: Listener = await listen({
    ...common,
    address: options.address,
    domain: 'heads',
    admits: admits((key) => heads.includes(key)),
    belongs: (peer) => served?.peer === peer,
    onFrame: onHeadFrame,
    onExpelled,
  });
  const ring: Listener = await listen({
    ...common,
    address: ringAddress,
    domain: 'ring',
    admits: admits((key) => served?.session.expects(key) ?? false),
    belongs: (peer) => served?.session.hears(peer) ?? false,
    onFrame: onRingFrame,
    onExpelled: (_, reason) => log(`cuts off a device of the ring: it sent ${reason}`),
  });

  const tick = setInterval(() => {
    if (served === undefined) return;
    const { peer, lastHeard } = served;
    if (clock() - lastHeard > HEAD_SILENCE) {
      dismiss(`has said nothing for ${HEAD_SILENCE} s`);
      return;
    }
    tell(peer, { kind: 'clock', sentAt: 0, at: clock() }).catch(() => {
      if (served?.peer === peer) dismiss('is gone');
    });
  }, 1000 * TICK);

  return {
    address: control.address,
    async close() {
      clearInterval(tick);
      await dismiss('is left, since this worker ends');
      control.close();
      ring.close();
      transport.close();
    },
  };
}

function echo(listener: Listener, peer: string, tag: number): void {
  listener.send(peer, { kind: 'echo', tag, payload: new Uint8Array(0) }).catch(() => {});
}

function nextPort(address: string): string {
  const [, host, port] = /^(tcp:\/\/.+):(\d+|\*)$/.exec(address) ?? [];
  if (host === undefined || port === undefined || (port !== '*' && !(Number(port) >= 1 && Number(port) < 65_535)))
    throw new InputError(address, 'is no address; tcp://host:port is needed, with a port from 1 to 65534 or *');
  return `${host}:${port === '*' ? port : Number(port) + 1}`;
}
