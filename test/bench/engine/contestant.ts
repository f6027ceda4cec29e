import type { MemoryUse } from './memory-use.ts';

/** An engine with a model loaded, in a process of its own: what the bench has it do, in turns with others. */
export interface Contestant {
  /** What is being measured: version, instruction set, where its weights lie. */
  readonly description: string;
  /** Forgets what was there, evaluates the tokens at once and chooses the next one, greedily. */
  prefill(tokens: readonly number[]): Promise<void>;
  /** Goes on for `count` tokens: each is evaluated and the next one chosen. */
  decode(count: number): Promise<void>;
  /** What memory and processors allow just now, by as many threads as the model uses; only Hearth can tell. */
  limits?(): Limits;
}

/** What a machine could do at the moment of asking. */
export interface Limits {
  /** Bytes per second of reading memory. */
  readonly readBandwidth: number;
  /** Operations per second in single precision. */
  readonly floatPeak: number;
  /** Operations per second in bytes, by vector instructions. */
  readonly bytePeak: number;
}

/** What a turn took. */
export interface Turn {
  readonly seconds: number;
  /** Processor time of all threads: below seconds × threads where others had the processors. */
  readonly processorSeconds: number;
}

export type Request =
  | { readonly kind: 'prefill'; readonly tokens: number }
  | { readonly kind: 'decode'; readonly tokens: number }
  | { readonly kind: 'memory' }
  | { readonly kind: 'limits' };

export type Answer =
  | { readonly kind: 'ready'; readonly description: string; readonly before: MemoryUse }
  | { readonly kind: 'turn'; readonly turn: Turn }
  | { readonly kind: 'memory'; readonly memory: MemoryUse }
  | { readonly kind: 'limits'; readonly limits: Limits }
  | { readonly kind: 'failed'; readonly message: string };

/** How a child is told what to load. */
export interface Task {
  readonly model: string;
  readonly threads: number;
  readonly context: number;
  /** Where node-llama-cpp is installed; Hearth needs none. */
  readonly library?: string;
}
