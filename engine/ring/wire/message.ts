import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Cut, TensorParallelPlan } from '../../plan/plan.ts';
import type { StreamedLayers } from '../../plan/ring-windows.ts';
import type { TensorPartition } from '../../plan/tensor-partition.ts';
import type { FittedPolicy, WeightsPolicy } from '../../plan/weights-policy.ts';
import type { ActivationFormat } from './activations.ts';
import type { RingSpan } from './span.ts';

/** The head as the sender of a frame; no device can have this name. */
export const FROM_HEAD = '';

/** A window that the head assigns to a device. */
export interface WindowAssignment {
  /** Its place in the order in which a token visits the plan's windows. */
  readonly index: number;
  /** Layers `from` up to, not including, `to`; the two are equal on a relay, which only forwards activations. */
  readonly from: number;
  readonly to: number;
  /** Its layers that run on the device's GPU. */
  readonly onGpu: readonly number[];
  /** Its layers whose operators the device's NPU shares; missing: none. */
  readonly onNpu?: readonly number[] | undefined;
  /** The destination of the result: the device of the next window, or the head. */
  readonly next: { readonly kind: 'device'; readonly name: string } | { readonly kind: 'head' };
}

/** A device to which this device sends results. */
export interface Successor {
  readonly name: string;
  /** Address of its ring listener. */
  readonly address: string;
  readonly publicKey: string | undefined;
  /** The name of this device's connection there: random, new for every epoch. */
  readonly linkName: string;
}

/** A device from which results come. */
export interface Predecessor {
  readonly name: string;
  readonly publicKey: string | undefined;
  readonly linkName: string;
}

/** One device's share of a plan. */
export interface Assignment {
  /** Identifies an assembly of the ring. */
  readonly epoch: number;
  /** The number of windows of the whole plan. */
  readonly windowCount: number;
  readonly windows: readonly WindowAssignment[];
  readonly successors: readonly Successor[];
  readonly predecessors: readonly Predecessor[];
  /** For each window here, the sender of its input: a predecessor, or FROM_HEAD. */
  readonly sources: readonly { readonly window: number; readonly from: string }[];
  /** Tokens that a request can have. */
  readonly context: number;
  /** Requests of this many tokens that have room at the same time. Memory is checked for the pages of all of them. */
  readonly requests: number;
  /** Tokens of a page of keys and values. */
  readonly pageTokens: number;
  readonly kvCache: KvFormat;
  /** Whether keys and values of layers on a GPU are in RAM; missing: they are on the GPU. */
  readonly keysInRam?: boolean | undefined;
  readonly activations: ActivationFormat;
  /** The most tokens in a frame. */
  readonly chunk: number;
  readonly weights: WeightsPolicy;
  /**
   * The experts that the device holds, by layer with experts, in their order; `undefined`: layers have theirs where they
   * run.
   */
  readonly held?: readonly (readonly number[])[] | undefined;
  /**
   * How every tensor is cut, under a plan that does so; the device then has one window, of all layers, and is a device of the
   * cut.
   */
  readonly cut?: TensorCut | undefined;
  /** Weights that are copied to the device's GPU for every pass; missing: none. */
  readonly streamed?: StreamedLayers | undefined;
  /** How operators are cut between the device's GPU and NPU, where windows have layers for it. */
  readonly partition?: TensorPartition | undefined;
  /** Whether spans are recorded. */
  readonly trace: boolean;
}

/** How every tensor is cut among devices. */
export interface TensorCut extends Pick<TensorParallelPlan, 'allReduce'> {
  /** In the plan's order, in which partial results are added up; the head is FROM_HEAD. */
  readonly members: readonly Cut[];
  /** Index of the device itself. */
  readonly own: number;
}

/** A device's weights policy as fitted to its memory, and the size of its windows' weights in bytes. */
export interface WeightsReport {
  readonly policy: FittedPolicy;
  readonly bytes: number;
}

/** Memory that a device holds and its operating system can't reclaim; over `limit`, this is its memory pressure. */
export interface HeldMemory {
  /** Its RAM, or what it was given of it, bytes. */
  readonly limit: number;
  /** KV caches, activations and pinned weights under its assignment, bytes. */
  readonly planned: number;
  /** Anonymous and locked pages of the process, bytes; `undefined` where the system doesn't count them. */
  readonly measured: number | undefined;
}

/** From the head to a worker. */
export type HeadMessage =
  | {
      readonly kind: 'hello';
      readonly head: string;
      /** By which the head calls the worker. */
      readonly device: string;
      /** Identity of the model (device/part-file.ts). */
      readonly model: string;
      /** 32 hexadecimal digits, the same for all workers of a ring and random otherwise. */
      readonly ring: string;
    }
  | { readonly kind: 'prepare'; readonly assignment: Assignment }
  | { readonly kind: 'link'; readonly epoch: number }
  | { readonly kind: 'measure'; readonly epoch: number; readonly bytes: number }
  | { readonly kind: 'clock'; readonly sentAt: number }
  | { readonly kind: 'report' }
  | { readonly kind: 'memory' }
  /** Asks for the experts that were needed and read under an assignment. */
  | { readonly kind: 'experts'; readonly epoch: number }
  /** `fresh`: measured again, unless it comes from a file. */
  | { readonly kind: 'profile'; readonly fresh: boolean }
  | { readonly kind: 'bye' };

/** Messages of the head that concern an assembly of the ring or the worker itself, not the connection. */
export type SessionMessage = Exclude<HeadMessage, { readonly kind: 'hello' | 'clock' }>;

/** From a worker to the head. */
export type WorkerMessage =
  | {
      readonly kind: 'welcome';
      /** Port of its ring listener, on the same host. */
      readonly ringPort: number;
      /** Memory for weights and caches, bytes. */
      readonly memory: number;
      /** The name of the GPU that it computes on in addition to its CPU, if it has one. */
      readonly gpu: string | undefined;
      readonly layers: readonly number[];
      /** Digests of its weights (device/weights-digests.ts), by layer. */
      readonly digests: readonly (readonly [part: string, digest: string])[];
    }
  | { readonly kind: 'refused'; readonly reason: string }
  /** All connections are taken; the head may try again. */
  | { readonly kind: 'crowded' }
  | {
      readonly kind: 'prepared';
      readonly epoch: number;
      /** Missing if weights are not managed. */
      readonly weights: WeightsReport | undefined;
    }
  | { readonly kind: 'linked'; readonly epoch: number }
  | { readonly kind: 'failed'; readonly epoch: number; readonly reason: string }
  /** It can't compute for now, or not any more; the ring may go on without it. */
  | { readonly kind: 'unable'; readonly reason: string }
  | { readonly kind: 'lost'; readonly epoch: number; readonly device: string; readonly reason: string }
  /** A device of the plan sent it what no honest one sends. */
  | { readonly kind: 'invalid'; readonly epoch: number; readonly device: string; readonly reason: string }
  | { readonly kind: 'measured'; readonly epoch: number; readonly links: readonly MeasuredLink[] }
  | { readonly kind: 'clock'; readonly sentAt: number; readonly at: number }
  /** The device as in a cluster file, JSON; or why there is no description. */
  | { readonly kind: 'profiled'; readonly facts: string }
  | { readonly kind: 'unprofiled'; readonly reason: string }
  | ({ readonly kind: 'memory' } & HeldMemory)
  /** Missing reads: it doesn't cache experts. */
  | { readonly kind: 'experts'; readonly epoch: number; readonly reads: ExpertReads | undefined }
  | { readonly kind: 'spans'; readonly spans: readonly RingSpan[] };

/** The measured latency and bandwidth of a link. */
export interface MeasuredLink {
  readonly to: string;
  /** Seconds one way. */
  readonly latency: number;
  /** Bytes per second. */
  readonly bandwidth: number;
}
