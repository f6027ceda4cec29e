import { errorLine } from '../../engine/input/error-line.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { RandomStream } from '../../engine/input/random-stream.ts';
import { FrameError } from '../../engine/ring/wire/frame-error.ts';

/** A reader of untrusted bytes, and what makes inputs for it. */
export interface FuzzTarget {
  /** A mutated input; all its randomness is from `random`. */
  input(random: RandomStream): Uint8Array;
  /**
   * Reads an input as the program does.
   * @returns the kind of result, one of a few words
   * @throws InputError or FrameError for an input that is refused; any other error is a fault
   */
  read(input: Uint8Array): string | Promise<string>;
}

/** The targets, each a module of this name in targets/ with `open`. */
export const TARGETS = [
  'gguf',
  'frames',
  'json',
  'redis',
  'requests',
  'imatrix',
  'templates',
  'vocabularies',
  'routing',
  'packed',
] as const;
export type TargetName = (typeof TARGETS)[number];

/** A module of targets/: opens what its target needs, once for each process. */
export interface TargetModule {
  open(): FuzzTarget | Promise<FuzzTarget>;
}

/** The outcome of an input: the kind of its result, `refused`, or a fault and why it is one. */
export type Outcome = { readonly kind: string } | { readonly fault: string };

/** Longest message of a refusal, characters: it has to fit a line that people read. */
const MOST_CHARACTERS = 2000;

/**
 * Reads an input. A refusal must be an error with which commands end with code 2 and one line of a readable length
 * (engine/terminal/report-error.ts), or which costs a peer its connection.
 */
export async function judge(target: FuzzTarget, input: Uint8Array): Promise<Outcome> {
  try {
    return { kind: await target.read(input) };
  } catch (error) {
    if (!(error instanceof Error)) return { fault: `throws ${String(error)}, not an error` };
    if (!(error instanceof InputError || error instanceof FrameError))
      return { fault: `${error.name}: ${error.message} ${placeOf(error)}`.trim() };
    // Commands print an InputError's message as one line; a FrameError's goes into logs as it is.
    const line = error instanceof InputError ? errorLine(error.message) : error.message;
    if (/[\n\r]/.test(line)) return { fault: `a refusal in several lines: ${JSON.stringify(line)}` };
    if (line.length > MOST_CHARACTERS) return { fault: `a refusal of ${line.length} characters` };
    return { kind: 'refused' };
  }
}

/** The place of this project in an error's stack that is nearest to its origin. */
function placeOf({ stack = '' }: Error): string {
  return /\((?:file:\/\/)?\/[^\s)]*\/((?:engine|simulator|datasets)\/[^\s)]+)\)/.exec(stack)?.[1] ?? '';
}
