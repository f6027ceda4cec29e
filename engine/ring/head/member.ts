import { randomBytes } from 'node:crypto';
import { otherWeights, type WeightsSamples } from '../device/weights-samples.ts';
import { clock } from '../wire/clock.ts';
import { type ClockOffset, createClockOffset } from '../wire/clock-offset.ts';
import { type Connection, connect } from '../wire/connection.ts';
import type { ActivationFrame, Frame } from '../wire/frame.ts';
import { createProbe, type Probe } from '../wire/link-probe.ts';
import type { HeadMessage, WorkerMessage } from '../wire/message.ts';
import { WORKER_MESSAGE } from '../wire/message-encoding.ts';
import { messageFrame, readMessage } from '../wire/message-frame.ts';
import type { Transport } from '../wire/transport.ts';

/** Where a device of the ring listens, and who it must be. */
export interface MemberAddress {
  readonly name: string;
  readonly address: string;
  /** Undefined: a plain link. */
  readonly publicKey: string | undefined;
}

type Welcome = Extract<WorkerMessage, { readonly kind: 'welcome' }>;

/** A worker as the head sees it: there or not, and found again when it comes back. */
export interface Member {
  readonly name: string;
  /** What it said of itself; undefined while it isn't there. */
  readonly welcome: Welcome | undefined;
  /** Why it isn't there, and whether waiting a while won't help. */
  readonly problem: string;
  readonly unfit: boolean;
  /** Of its clock, ahead of ours. */
  readonly offset: ClockOffset;
  readonly probe: Probe;
  tell(message: HeadMessage): void;
  send(frame: Frame): void;
  close(): void;
}

export interface MemberOptions extends MemberAddress {
  readonly transport: Transport;
  readonly head: string;
  /** The model's identity. */
  readonly model: string;
  readonly samples: WeightsSamples;
  readonly mostBytes: number;
  readonly onPresent: () => void;
  readonly onGone: (reason: string) => void;
  readonly onMessage: (message: WorkerMessage) => void;
  /** May throw a FrameError. */
  readonly onActivations: (frame: ActivationFrame) => void;
}

/** Seconds between readings of the clock, which also tell the worker that the head is there. */
const TICK = 1;
/** Readings one after another when it comes. */
const FIRST_READINGS = 8;
const OTHER_WEIGHTS = 'has other weights';
/** Milliseconds until a worker that refused is asked again. */
const AGAIN = 2000;

export function createMember(options: MemberOptions): Member {
  const { name, head, model } = options;
  const offset = createClockOffset();
  let welcome: Welcome | undefined;
  let problem = '';
  let connection: Connection | undefined;
  let readings = 0;
  let closed = false;
  let again: NodeJS.Timeout | undefined;

  const send = (frame: Frame): void => {
    // A peer that is gone is told by onGone.
    connection?.send(frame).catch(() => {});
  };
  const tell = (message: HeadMessage): void => send(messageFrame(message));
  const probe = createProbe(async (frame) => send(frame));
  const leave = (reason: string, wait: number): void => {
    const wasPresent = welcome !== undefined;
    welcome = undefined;
    problem = reason;
    connection?.close();
    if (!closed) again = setTimeout(reach, wait);
    if (wasPresent) options.onGone(reason);
  };

  const onMessage = (message: WorkerMessage): void => {
    switch (message.kind) {
      case 'welcome': {
        const other = otherWeights(options.samples, new Map(message.samples));
        if (other !== undefined) {
          tell({ kind: 'bye' });
          leave(
            `${OTHER_WEIGHTS}: its ${other} differs from the head's; give it the head's file or a part of it`,
            AGAIN,
          );
          return;
        }
        welcome = message;
        problem = '';
        readings = 0;
        tell({ kind: 'clock', sentAt: clock() });
        options.onPresent();
        return;
      }
      case 'refused':
        leave(`refused: ${message.reason}`, AGAIN);
        return;
      case 'clock':
        // The worker's own ticks answer nothing.
        if (message.sentAt === 0) return;
        offset.add({ ...message, receivedAt: clock() });
        readings += 1;
        if (readings < FIRST_READINGS) tell({ kind: 'clock', sentAt: clock() });
        return;
      default:
        options.onMessage(message);
    }
  };

  const reach = (): void => {
    if (closed) return;
    const own = connect({
      ...options,
      name: randomBytes(16).toString('hex'),
      onReady: () => tell({ kind: 'hello', head, device: name, model }),
      onFrame(frame) {
        if (own !== connection) return;
        if (frame.kind === 'echo') probe.onEcho(frame);
        else if (frame.kind === 'activations') options.onActivations(frame);
        else onMessage(readMessage(frame, WORKER_MESSAGE));
      },
      onGone(reason) {
        if (own === connection) leave(reason, 0);
      },
    });
    connection = own;
  };
  reach();
  const tick = setInterval(() => {
    if (welcome !== undefined) tell({ kind: 'clock', sentAt: clock() });
  }, 1000 * TICK);

  return {
    name,
    offset,
    probe: probe.probe,
    tell,
    send,
    get welcome() {
      return welcome;
    },
    get unfit() {
      return problem.startsWith('refused') || problem.startsWith(OTHER_WEIGHTS);
    },
    get problem() {
      return problem === '' ? (connection?.problem ?? '') : problem;
    },
    close() {
      closed = true;
      clearInterval(tick);
      clearTimeout(again);
      connection?.close();
    },
  };
}
