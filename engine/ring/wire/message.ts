import type { KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { FittedPolicy, WeightsPolicy } from '../../plan/weights-policy.ts';
import type { ActivationFormat } from './frame.ts';
import type { RingSpan } from './span.ts';

/** The head as a sender: a name that no device can have. */
export const FROM_HEAD = '';

/** A run of layers that a token visits at once: window `index` of the plan, in the order of the visits. */
export interface AssignedWindow {
  readonly index: number;
  /** Equal for a relay, which only hands on. */
  readonly from: number;
  readonly to: number;
  /** The device of the next window, or `head`. */
  readonly next: { readonly kind: 'device'; readonly name: string } | { readonly kind: 'head' };
}

/** A device that results are sent to. */
export interface Successor {
  readonly name: string;
  /** Of its ring listener. */
  readonly address: string;
  readonly publicKey: string | undefined;
  /** What this device calls itself there, at random for every epoch. */
  readonly linkName: string;
}

/** A device that results come from. */
export interface Predecessor {
  readonly name: string;
  readonly publicKey: string | undefined;
  readonly linkName: string;
}

/** What the head tells a worker of a plan. */
export interface Assignment {
  readonly epoch: number;
  /** Of the plan, over all devices. */
  readonly windowCount: number;
  readonly windows: readonly AssignedWindow[];
  readonly successors: readonly Successor[];
  readonly predecessors: readonly Predecessor[];
  /** Of each window here, who sends what it works on: a predecessor, or FROM_HEAD. */
  readonly sources: readonly { readonly window: number; readonly from: string }[];
  /** Tokens that the KV cache of a request holds, and requests at once: memory is checked for all of them. */
  readonly context: number;
  readonly requests: number;
  readonly kvCache: KeyValueCacheShape['type'];
  readonly activations: ActivationFormat;
  /** Tokens in a frame at most. */
  readonly chunk: number;
  /** What the device does with its weights. */
  readonly weights: WeightsPolicy;
  /** Whether somebody wants to see what it did when. */
  readonly trace: boolean;
}

/** What a device does with its weights, and how many bytes its windows have. */
export interface WeightsReport {
  readonly policy: FittedPolicy;
  readonly bytes: number;
}

/** From the head to a worker. */
export type HeadMessage =
  | { readonly kind: 'hello'; readonly head: string; readonly device: string; readonly model: string }
  | { readonly kind: 'prepare'; readonly assignment: Assignment }
  | { readonly kind: 'link'; readonly epoch: number }
  | { readonly kind: 'free'; readonly request: number }
  | { readonly kind: 'measure'; readonly epoch: number; readonly bytes: number }
  | { readonly kind: 'clock'; readonly sentAt: number }
  | { readonly kind: 'report' }
  | { readonly kind: 'profile' }
  | { readonly kind: 'bye' };

/** From a worker to the head. */
export type WorkerMessage =
  | {
      readonly kind: 'welcome';
      /** Port of its ring listener, at the same host. */
      readonly ringPort: number;
      /** Bytes that it may use for weights and caches. */
      readonly memory: number;
      readonly layers: readonly number[];
      /** Of its weights, by layer. */
      readonly samples: readonly (readonly [part: string, hash: string])[];
    }
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'prepared';
      readonly epoch: number;
      /** Missing where nothing is done with them. */
      readonly weights: WeightsReport | undefined;
    }
  | { readonly kind: 'linked'; readonly epoch: number }
  | { readonly kind: 'failed'; readonly epoch: number; readonly reason: string }
  | { readonly kind: 'lost'; readonly epoch: number; readonly device: string; readonly reason: string }
  | { readonly kind: 'measured'; readonly epoch: number; readonly links: readonly MeasuredLink[] }
  | { readonly kind: 'clock'; readonly sentAt: number; readonly at: number }
  /** A device as in a cluster file, JSON; or why there is none. */
  | { readonly kind: 'profiled'; readonly facts: string }
  | { readonly kind: 'unprofiled'; readonly reason: string }
  | { readonly kind: 'spans'; readonly spans: readonly RingSpan[] };

/** What a link was found to do. */
export interface MeasuredLink {
  readonly to: string;
  /** Seconds one way. */
  readonly latency: number;
  /** Bytes per second. */
  readonly bandwidth: number;
}
