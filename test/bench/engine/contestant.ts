import type { MemoryUse } from './memory-use.ts';

/** An engine with a loaded model in its own process, and the tasks that the benchmark gives it. */
export interface Contestant {
  /** A description of what is measured: version, instruction set, location of the weights. */
  readonly description: string;
  /** Clears the context, evaluates the tokens at once and chooses the next one greedily. */
  prefill(tokens: readonly number[]): Promise<void>;
  /** Continues for `count` tokens: evaluates each and chooses the next one. */
  decode(count: number): Promise<void>;
  /**
   * Begins a text after each prompt, and returns when all have their first token, so that what is returned can be timed:
   * it continues each for `count` tokens. Texts share passes. Default: there is one text at a time.
   */
  begin?(prompts: readonly (readonly number[])[], count: number): Promise<() => Promise<void>>;
  /** The current limits of memory and processors for as many threads as the model uses; only Hearth measures them. */
  limits?(of: LimitsOf): Limits | Promise<Limits>;
}

/** The discipline whose limits are needed, where each takes time of its own to measure; the others are then NaN. */
export type LimitsOf = 'decode' | 'prefill' | 'all';

/** The limits of a machine at one moment. */
export interface Limits {
  /** Bytes per second of reading memory. */
  readonly readBandwidth: number;
  /** Operations per second in single precision. */
  readonly floatPeak: number;
  /** Operations per second in bytes, by vector instructions. */
  readonly bytePeak: number;
}

/** The time of a turn. */
export interface Turn {
  readonly seconds: number;
  /** Processor time of all threads: below seconds × threads if other processes ran. NaN where nothing tells it. */
  readonly processorSeconds: number;
}

export type Request =
  | { readonly kind: 'prefill'; readonly tokens: number }
  | { readonly kind: 'decode'; readonly tokens: number }
  | { readonly kind: 'requests'; readonly requests: number; readonly tokens: number }
  | { readonly kind: 'memory' }
  | { readonly kind: 'limits'; readonly of: LimitsOf };

export type Answer =
  | { readonly kind: 'ready'; readonly description: string; readonly before: MemoryUse }
  | { readonly kind: 'turn'; readonly turn: Turn }
  | { readonly kind: 'memory'; readonly memory: MemoryUse }
  | { readonly kind: 'limits'; readonly limits: Limits }
  | { readonly kind: 'failed'; readonly message: string };

/** The task that a child is given. */
export interface Task {
  readonly model: string;
  readonly threads: number;
  readonly context: number;
  /** Texts that are continued at once, at most; default: one. */
  readonly texts?: number;
  /** Tokens of prompts are below this; default: 31,000, which every model in use has. */
  readonly vocabulary?: number;
  /** Hearth's instruction set; default: the fastest available. */
  readonly instructions?: string;
  /** Folder of node-llama-cpp; not used for Hearth. */
  readonly library?: string;
  /** On a GPU: llama.cpp's build for it, and Hearth's name of it or a part of that; otherwise on the CPU. */
  readonly gpu?: { readonly build: 'vulkan' | 'cuda'; readonly device: string | undefined };
}
