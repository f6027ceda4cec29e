import type { RandomStream } from '../../engine/input/random-stream.ts';
import type { Held } from './process.ts';

/** A fault that struck servers or sweeps, and what came of it. */
export interface Round {
  readonly fault: string;
  /** Work that ended whole: answers, sweeps. */
  readonly whole: number;
  /** Work that was broken off, as it should be. */
  readonly brokenOff: number;
  /** Promises that were broken; empty if all were kept. */
  readonly broken: readonly string[];
}

/** A process that lives through all faults, and what it held after each. */
export interface Watched {
  readonly name: string;
  readonly held: readonly Held[];
}

/** The outcome of one of the subjects. */
export interface SubjectResult {
  readonly rounds: readonly Round[];
  readonly watched: readonly Watched[];
}

/** Processes that are struck with faults, one round after the other. */
export interface Subject {
  /** The effect of each fault. */
  readonly faults: Readonly<Record<string, string>>;
  round(fault: string): Promise<Omit<Round, 'fault'>>;
  /** The processes that are watched. */
  readonly watched: readonly { readonly name: string; readonly pid: number }[];
  close(): Promise<void>;
}

/** Each kind once, in random order, then all again: no kind is drawn more often than others by chance. */
export function* drawn<Kind>(kinds: readonly Kind[], random: RandomStream): Generator<Kind, never> {
  for (;;) {
    const order = kinds.map((kind) => ({ kind, place: random.next() })).sort((a, b) => a.place - b.place);
    for (const { kind } of order) yield kind;
  }
}
