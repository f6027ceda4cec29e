import { formatSeconds } from '../../input/format.ts';
import { clock } from '../wire/clock.ts';
import type { HeadMessage, WorkerMessage } from '../wire/message.ts';
import { reasonOf } from '../wire/parse-message.ts';
import type { RingGpu } from './device-part.ts';
import type { LoadedPart } from './loaded-part.ts';
import type { WorkerSession } from './session.ts';

type Hello = Extract<HeadMessage, { readonly kind: 'hello' }>;

/** The head that a worker serves; there is at most one at a time. */
export interface ServedHead {
  /** The session with the head, if there is one. */
  readonly session: WorkerSession | undefined;
  /** The head's name if its connection is `peer`. */
  nameOf(peer: string): string | undefined;
  /** The session of the head whose connection is `peer`; records that the head sent a message. */
  heard(peer: string): WorkerSession | undefined;
  /** Serves a head; refuses it while another one is served or if it has another model. */
  greet(peer: string, hello: Hello): Promise<void>;
  /** Ends the session and frees its memory. */
  dismiss(reason: string): Promise<void>;
  /** Dismisses the head if the connection that is closed was its own. */
  left(peer: string): void;
  /** Dismisses a head that is gone or silent; called once a second. */
  check(): void;
}

export interface ServedHeadOptions {
  readonly loaded: LoadedPart;
  readonly gpu: RingGpu | undefined;
  /** Memory for weights and caches, bytes. */
  readonly memory: number;
  /** The port of the listener for other devices of the ring. */
  readonly ringPort: () => number;
  /** Rejects if the peer is gone. */
  readonly tell: (peer: string, message: WorkerMessage) => Promise<void>;
  readonly startSession: (peer: string) => WorkerSession;
  /** Why this device can't compute for now; `undefined` if it can. */
  readonly unable: () => string | undefined;
  /** Default: SILENCE_SECONDS. */
  readonly silenceSeconds?: number;
  readonly log: (line: string) => void;
}

/** Seconds without a message after which a connected head is dismissed; heads send one a second. */
const SILENCE_SECONDS = 30;

/** Seconds within which a live head has sent a message: it sends one every second. */
const HEARD_SECONDS = 2;

interface Served extends Pick<Hello, 'head' | 'device' | 'ring'> {
  readonly peer: string;
  readonly since: number;
  lastHeard: number;
  readonly session: WorkerSession;
}

export function createServedHead(options: ServedHeadOptions): ServedHead {
  const { loaded, memory, ringPort, tell, startSession, silenceSeconds = SILENCE_SECONDS, log } = options;
  let served: Served | undefined;

  const dismiss = async (reason: string): Promise<void> => {
    const old = served;
    served = undefined;
    if (old === undefined) return;
    await old.session
      .end()
      .catch(({ message }: Error) => log(`${old.head}: its session ended with an error: ${message}`));
    log(`${old.head}: ${reason}; its memory is freed`);
  };
  const readClock = (peer: string): Promise<void> => tell(peer, { kind: 'clock', sentAt: 0, at: clock() });

  /** Why a head can't be served, or `undefined`. */
  const refusal = ({ model, ring, device }: Hello): string | undefined => {
    if (served?.ring === ring && served.device !== device)
      return `it is in this ring already, as ${served.device}; give each worker once`;
    if (served !== undefined) {
      const time = formatSeconds(clock() - served.since);
      return `it has served the head ${served.head} for ${time}; try again when that has finished`;
    }
    const unable = options.unable();
    if (unable !== undefined) return `it can’t compute: ${unable}`;
    if (model !== loaded.identity)
      return `it has another model, ${loaded.part.model.name}: its header differs; give it the head’s file or a part of it`;
    return undefined;
  };

  return {
    get session() {
      return served?.session;
    },
    nameOf: (peer) => (served?.peer === peer ? served.head : undefined),
    heard(peer) {
      if (served?.peer !== peer) return undefined;
      served.lastHeard = clock();
      return served.session;
    },
    async greet(peer, hello) {
      const { head, device, ring } = hello;
      // The current head may be gone unnoticed. One that has just sent a message isn't asked, however often others greet.
      if (served !== undefined && clock() - served.lastHeard > HEARD_SECONDS)
        await readClock(served.peer).catch(() => dismiss('is gone'));
      const reason = refusal(hello);
      if (reason !== undefined) {
        log(`refused ${head}: ${reason}`);
        return tell(peer, { kind: 'refused', reason: reasonOf(reason) }).catch(() => {});
      }
      const now = clock();
      let session: WorkerSession;
      try {
        session = startSession(peer);
      } catch (error) {
        const failure = `no session could begin: ${(error as Error).message}`;
        log(`${head}: ${failure}`);
        return tell(peer, { kind: 'unable', reason: reasonOf(failure) }).catch(() => {});
      }
      served = { peer, head, device, ring, since: now, lastHeard: now, session };
      log(`serves ${head}`);
      const { layers } = loaded.held;
      const digests = [...loaded.digests];
      const gpu = options.gpu?.name;
      await tell(peer, { kind: 'welcome', ringPort: ringPort(), memory, gpu, layers, digests }).catch(() => {});
    },
    dismiss,
    left(peer) {
      if (served?.peer === peer) dismiss('is gone');
    },
    check() {
      if (served === undefined) return;
      const { peer, lastHeard } = served;
      if (clock() - lastHeard > silenceSeconds) dismiss(`was silent for ${silenceSeconds} s`);
      else
        readClock(peer).catch(() => {
          if (served?.peer === peer) dismiss('is gone');
        });
    },
  };
}
