import type { VerifyingModel } from '../../text/generate.ts';
import { DeviceLostError, RingChangedError } from './errors.ts';
import type { RecoverableHead, RecoveringRing } from './lost-worker.ts';
import type { RingRequest, RingWork } from './passes.ts';

type Multiplied = RingWork['multiplied'];

/** A text whose keys and values are in a ring. It outlives the ring's assemblies: its tokens are kept here. */
export interface RingText {
  readonly position: number;
  /** Forgets all tokens from `position` on. */
  rewind(position: number): void;
  /** Leaves its caches to the next text that begins. It must not be used afterwards. */
  close(): void;
}

/** Tokens that a text adds in a pass, at least one. */
export interface RingTextWork extends Pick<RingWork, 'tokens' | 'rows' | 'wanted' | 'multiplied'> {
  readonly text: RingText;
}

/** Texts that one ring continues. */
export interface RingTexts {
  /** Tokens that a text can have. */
  readonly contextLength: number;
  open(): RingText;
  /**
   * One pass, which is repeated on other devices when one is lost. Passes of different texts may be under way at the same
   * time. Rejects if the remaining devices can't hold the model, and with RingError if a device reports a failure.
   * @returns what is wanted, by work: [rows][vocabulary or hidden]; the arrays are the caller's
   */
  evaluate(work: readonly RingTextWork[]): Promise<Float32Array[]>;
}

/** A token, and how it was multiplied when it was evaluated first. */
interface Evaluated {
  readonly token: number;
  readonly multiplied: Multiplied;
}

interface Opened {
  history: Evaluated[];
  /** Its request in the ring's current assembly, and how many tokens of the history are in its caches. */
  held: { readonly request: RingRequest; readonly assembly: number; evaluated: number } | undefined;
}

export function createRingTexts(ring: RecoveringRing, contextLength: number): RingTexts {
  const opened = new Map<RingText, Opened>();
  /** Requests of closed texts: their caches serve the next texts. */
  let idle: { readonly request: RingRequest; readonly assembly: number }[] = [];

  const holdIn = (one: Opened, head: RecoverableHead): NonNullable<Opened['held']> => {
    const assembly = ring.assemblies;
    if (one.held?.assembly === assembly) return one.held;
    idle = idle.filter((left) => left.assembly === assembly);
    one.held = { request: idle.pop()?.request ?? head.request(contextLength), assembly, evaluated: 0 };
    return one.held;
  };

  /** The tokens that a text's caches lack before new ones of a kind: whole runs to evaluate first, and a last one. */
  const missing = ({ history }: Opened, from: number, multiplied: Multiplied) => {
    const runs = runsOf(history.slice(from));
    const joins = runs.at(-1)?.multiplied === multiplied;
    return { before: joins ? runs.slice(0, -1) : runs, joined: joins ? (runs.at(-1)?.tokens ?? []) : [] };
  };

  const tryOn = async (head: RecoverableHead, work: readonly RingTextWork[]): Promise<Float32Array[]> => {
    const passed: RingWork[] = [];
    for (const { text, tokens, rows, wanted, multiplied } of work) {
      const one = opened.get(text) as Opened;
      const held = holdIn(one, head);
      const { request } = held;
      const { before, joined } = missing(one, held.evaluated, multiplied);
      for (const run of before) {
        await head.evaluate([{ request, position: held.evaluated, rows: 0, ...run }]);
        held.evaluated += run.tokens.length;
      }
      passed.push({ request, position: held.evaluated, tokens: [...joined, ...tokens], rows, wanted, multiplied });
    }
    const logits = await head.evaluate(passed);
    for (const { text, tokens, multiplied } of work) {
      const { history, held } = opened.get(text) as Opened;
      for (const token of tokens) history.push({ token, multiplied });
      if (held !== undefined) held.evaluated = history.length;
    }
    return logits;
  };

  return {
    contextLength,
    open() {
      const one: Opened = { history: [], held: undefined };
      const text: RingText = {
        get position() {
          return one.history.length;
        },
        rewind(position) {
          one.history.length = Math.min(one.history.length, position);
          if (one.held !== undefined) one.held.evaluated = Math.min(one.held.evaluated, position);
        },
        close() {
          if (one.held !== undefined) idle.push(one.held);
          opened.delete(text);
        },
      };
      opened.set(text, one);
      return text;
    },
    async evaluate(work) {
      for (;;) {
        const head = await ring.ready();
        try {
          return await tryOn(head, work);
        } catch (error) {
          if (!(error instanceof DeviceLostError || error instanceof RingChangedError)) throw error;
        }
      }
    },
  };
}

/** Consecutive tokens that were multiplied in one way. */
function runsOf(history: readonly Evaluated[]): { tokens: number[]; multiplied: Multiplied }[] {
  const runs: { tokens: number[]; multiplied: Multiplied }[] = [];
  for (const { token, multiplied } of history) {
    const last = runs.at(-1);
    if (last !== undefined && last.multiplied === multiplied) last.tokens.push(token);
    else runs.push({ tokens: [token], multiplied });
  }
  return runs;
}

/** A text in a ring, as a language model. */
export interface RingModel extends VerifyingModel {
  evaluate(tokens: readonly number[]): Promise<Float32Array>;
  verify(tokens: readonly number[]): Promise<Float32Array>;
}

/** A language model that continues the same text on other devices when one is lost. */
export function ringModel(texts: RingTexts): RingModel {
  const text = texts.open();
  const evaluate = async (tokens: readonly number[], rows: number, multiplied: Multiplied): Promise<Float32Array> => {
    const [logits] = await texts.evaluate([{ text, tokens, rows, multiplied }]);
    return logits as Float32Array;
  };
  return {
    contextLength: texts.contextLength,
    promptPart: texts.contextLength, // the whole prompt: its frames follow each other through the ring
    get position() {
      return text.position;
    },
    evaluate: (tokens) => evaluate(tokens, 1, undefined),
    verify: (tokens) => evaluate(tokens, tokens.length, 'singly'),
    rewind: (position) => text.rewind(position),
  };
}
