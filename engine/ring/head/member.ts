import { randomBytes } from 'node:crypto';
import { otherWeights, type WeightsDigests } from '../device/weights-digests.ts';
import { MOST_DEVICES } from '../wire/address.ts';
import { type ClockOffset, clock, createClockOffset } from '../wire/clock.ts';
import { type Connection, connect, TOO_SLOW } from '../wire/connection.ts';
import type { ActivationFrame, Frame, SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import { createProbe, type Probe } from '../wire/link-probe.ts';
import type { HeadMessage, WorkerMessage } from '../wire/message.ts';
import { messageFrame, readMessage, WORKER_MESSAGE } from '../wire/parse-message.ts';
import type { Transport } from '../wire/transport.ts';

/** The address of a device of the ring, and its identity. */
export interface MemberAddress {
  readonly name: string;
  readonly address: string;
  /** Hexadecimal; `undefined`: a plain link. */
  readonly publicKey: string | undefined;
}

type Welcome = Extract<WorkerMessage, { readonly kind: 'welcome' }>;

/** The head's connection to a worker, renewed when the worker comes back. */
export interface Member {
  readonly name: string;
  /** The worker's welcome; `undefined` while it is not connected. */
  readonly welcome: Welcome | undefined;
  /** Why it is not connected. */
  readonly problem: string;
  /** Whether waiting is pointless: it refuses this head, has other weights, sent what no worker sends, or is silent. */
  readonly unfit: boolean;
  /** Seconds by which its clock is ahead of ours. */
  readonly offset: ClockOffset;
  readonly probe: Probe;
  tell(message: HeadMessage): void;
  send(frame: Frame): void;
  /** Closes the connection for good, since the worker sent what no honest one sends. */
  expel(reason: string): void;
  close(): void;
}

export interface MemberOptions extends MemberAddress {
  readonly transport: Transport;
  readonly head: string;
  /** Identity of the model (device/part-file.ts). */
  readonly model: string;
  /** Name shared by all members of the ring (HeadMessage). */
  readonly ring: string;
  readonly digests: WeightsDigests;
  readonly mostBytes: number;
  readonly onPresent: () => void;
  readonly onGone: (reason: string) => void;
  readonly onMessage: (message: WorkerMessage) => void;
  /** May throw a FrameError. */
  readonly onActivations: (frame: ActivationFrame) => void;
  /** May throw a FrameError. */
  readonly onSums: (frame: SumsFrame) => void;
}

/** Seconds between clock exchanges, which also keep the worker's session alive. */
const CLOCK_INTERVAL = 1;
/** Consecutive clock exchanges after a worker has connected. */
const FIRST_EXCHANGES = 8;
/** Milliseconds between attempts to connect to a worker that refused, and to one whose connections were all taken. */
const RETRY = 2000;
const RETRY_CROWDED = 500;

export function createMember(options: MemberOptions): Member {
  const { name, head, model, ring } = options;
  const offset = createClockOffset();
  let welcome: Welcome | undefined;
  let problem = '';
  let connection: Connection | undefined;
  let exchanges = 0;
  let unfit = false;
  let retry: NodeJS.Timeout | undefined;

  const send = (frame: Frame): void => {
    const to = connection;
    to?.send(frame).catch(() => {
      // onGone reports a worker that is gone.
      if (to === connection && to.problem === '') leave(TOO_SLOW, 0);
    });
  };
  const tell = (message: HeadMessage): void => send(messageFrame(message));
  const probe = createProbe(async (frame) => send(frame));
  /** Ends the connection, or the wait for the next. Sends that fail therefore say nothing of the worker. */
  const disconnect = (): void => {
    clearTimeout(retry);
    connection?.close();
    connection = undefined;
  };
  /** @param wait milliseconds until it is tried again; never if `undefined` */
  const leave = (reason: string, wait: number | undefined): void => {
    const wasPresent = welcome !== undefined;
    welcome = undefined;
    problem = reason;
    disconnect();
    probe.lost(reason);
    if (wait !== undefined) retry = setTimeout(reach, wait);
    if (wasPresent) options.onGone(reason);
  };

  const onMessage = (message: WorkerMessage): void => {
    switch (message.kind) {
      case 'welcome': {
        if (welcome !== undefined) throw new FrameError('a second welcome');
        const other = otherWeights(options.digests, new Map(message.digests));
        if (other !== undefined) {
          tell({ kind: 'bye' });
          leave(
            `has other weights: its ${other} differs from the head’s, or one of the two files is damaged; give it the head’s file or a part of it`,
            RETRY,
          );
          unfit = true;
          return;
        }
        unfit = false;
        welcome = message;
        problem = '';
        exchanges = 0;
        tell({ kind: 'clock', sentAt: clock() });
        options.onPresent();
        return;
      }
      case 'refused':
        leave(`refused: ${message.reason}`, RETRY);
        unfit = true;
        return;
      case 'unable':
        leave(message.reason, RETRY);
        return;
      case 'crowded':
        leave(`waits for a connection: ${MOST_DEVICES} to it are open`, RETRY_CROWDED);
        return;
      case 'clock':
        // A worker's own reading, which checks the connection, has no counterpart here.
        if (message.sentAt === 0) return;
        offset.add({ ...message, receivedAt: clock() });
        exchanges += 1;
        if (exchanges < FIRST_EXCHANGES) tell({ kind: 'clock', sentAt: clock() });
        return;
      default:
        options.onMessage(message);
    }
  };

  const expel = (reason: string): void => {
    unfit = true;
    leave(reason, undefined);
  };

  const reach = (): void => {
    const own = connect({
      ...options,
      name: randomBytes(16).toString('hex'),
      onReady() {
        if (own === connection) tell({ kind: 'hello', head, device: name, model, ring });
      },
      onFrame(frame) {
        if (own !== connection) return;
        if (frame.kind === 'echo') probe.onEcho(frame);
        else if (frame.kind === 'activations') options.onActivations(frame);
        else if (frame.kind === 'sums') options.onSums(frame);
        else onMessage(readMessage(frame, WORKER_MESSAGE));
      },
      onGone(reason, invalid) {
        if (own !== connection) return;
        if (invalid) expel(reason);
        else leave(reason, 0);
      },
    });
    connection = own;
  };
  reach();
  const tick = setInterval(() => {
    if (welcome !== undefined) tell({ kind: 'clock', sentAt: clock() });
  }, 1000 * CLOCK_INTERVAL);

  return {
    name,
    offset,
    probe: probe.probe,
    tell,
    send,
    expel,
    get welcome() {
      return welcome;
    },
    get unfit() {
      return unfit || connection?.silent === true;
    },
    get problem() {
      return problem === '' ? (connection?.problem ?? '') : problem;
    },
    close() {
      clearInterval(tick);
      disconnect();
      probe.lost('the connection is closed');
    },
  };
}
