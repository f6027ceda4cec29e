import { type CountedPage, type CountedText, createCountedPages } from '../../batch/counted-pages.ts';
import type { QueueText } from '../../batch/request-queue.ts';
import type { VerifyingModel } from '../../text/generate.ts';
import type { PageCopy } from '../wire/frame.ts';
import { DeviceLostError, RingChangedError } from './errors.ts';
import type { RecoverableHead, RecoveringRing } from './lost-worker.ts';
import type { RingWork } from './passes.ts';

type Multiplied = RingWork['multiplied'];

/** A text whose keys and values are in a ring. It outlives the ring's assemblies: its tokens are kept here. */
export interface RingText extends QueueText<CountedPage> {
  /**
   * Forgets all tokens from `position` on. A page that the next token would be in, and that is kept or that other texts
   * use, is copied with the next pass.
   * @throws RangeError if there is no page for the copy
   */
  rewind(position: number): void;
}

/** Tokens that a text adds in a pass, at least one. */
export interface RingTextWork extends Pick<RingWork, 'tokens' | 'rows' | 'wanted' | 'multiplied'> {
  readonly text: RingText;
}

/** The pages of keys and values that each device of a ring has, and its head numbers. */
export interface RingPages {
  /** Tokens that a text can have. */
  readonly contextLength: number;
  readonly pageTokens: number;
  readonly pages: number;
  /** Whether layers keep states: a text that goes back begins anew, and none begins with another's pages. */
  readonly isRecurrent?: boolean;
}

/** Texts that one ring continues. */
export interface RingTexts extends RingPages {
  readonly freePages: number;
  /** @param beginning pages that other texts kept, and whose tokens it begins with; default: none */
  open(beginning?: readonly CountedPage[]): RingText;
  /**
   * One pass, which is repeated on other devices when one is lost. Passes of different texts may be under way at the same
   * time if they share no pages. Rejects if the remaining devices can't hold the model, and with RingError if a device
   * reports a failure.
   * @returns what is wanted, by work: [rows][vocabulary or hidden]; the arrays are the caller's
   * @throws RangeError if there are too few free pages
   */
  evaluate(work: readonly RingTextWork[]): Promise<Float32Array[]>;
}

/** A token, and how it was multiplied when it was evaluated first. */
interface Evaluated {
  readonly token: number;
  readonly multiplied: Multiplied;
}

/** Tokens of a page, and how many of them have their keys and values on the devices of an assembly. */
interface PageTokens {
  readonly tokens: Evaluated[];
  assembly: number;
  held: number;
}

interface Opened {
  readonly pages: CountedText;
  /** Tokens that were on the devices when its first pass was carried out. */
  found: number | undefined;
  /** Tokens that were evaluated once. */
  position: number;
  request: AssignedRequest | undefined;
}

/** A text's request in an assembly of the ring, on whose devices its first tokens are, as many as it has noted. */
interface AssignedRequest {
  readonly number: number;
  readonly assembly: number;
  held: number;
}

export function createRingTexts(ring: RecoveringRing, size: RingPages): RingTexts {
  const { pageTokens, isRecurrent = false } = size;
  const memory = createCountedPages(size);
  const opened = new Map<RingText, Opened>();
  const contents: PageTokens[] = [];
  /** Requests of closed texts, whose states on devices others take over: there are those of this many requests. */
  let unused: AssignedRequest[] = [];
  /** Copies that the devices of an assembly have not been told yet, in order. */
  let copies: (PageCopy & { readonly assembly: number })[] = [];
  const contentsOf = ({ pages }: Opened): PageTokens[] => pages.numbers.map((number) => contents[number] as PageTokens);
  const openedOf = (text: RingText): Opened => {
    const one = opened.get(text);
    if (one === undefined) throw new RangeError('a closed text');
    return one;
  };

  const requestIn = (one: Opened, head: RecoverableHead, assembly: number): AssignedRequest => {
    if (one.request?.assembly === assembly) return one.request;
    unused = unused.filter((request) => request.assembly === assembly);
    const number = unused.pop()?.number ?? head.request();
    one.request = { number, assembly, held: 0 };
    return one.request;
  };
  /** Its first tokens that are on the devices of an assembly. */
  const heldOf = (one: Opened, assembly: number): number => {
    const noted = one.request?.assembly === assembly ? one.request.held : 0;
    if (noted === one.position || isRecurrent) return noted;
    let held = 0;
    for (const page of contentsOf(one)) {
      if (page.assembly !== assembly) break;
      held += page.held;
      if (page.held < pageTokens) break;
    }
    return Math.min(held, one.position);
  };
  /** Its tokens from one up to, not including, another. */
  const tokensOf = (one: Opened, from: number, to: number): Evaluated[] => {
    if (from === to) return [];
    return contentsOf(one)
      .slice(Math.floor(from / pageTokens), Math.ceil(to / pageTokens))
      .flatMap(({ tokens }) => tokens)
      .slice(from % pageTokens, (from % pageTokens) + to - from);
  };
  /** Tokens from one up to another are now on the devices of an assembly too. */
  const hold = (one: Opened, assembly: number, from: number, to: number): void => {
    const { numbers } = one.pages;
    for (let index = Math.floor(from / pageTokens); index * pageTokens < to; index++) {
      const page = contents[numbers[index] as number] as PageTokens;
      page.assembly = assembly;
      page.held = Math.min(pageTokens, to - index * pageTokens);
    }
    if (one.request?.assembly === assembly) one.request.held = to;
  };
  /** Notes tokens that have been evaluated for the first time, in pages that the text has for them. */
  const append = (one: Opened, tokens: readonly number[], multiplied: Multiplied): void => {
    const { numbers } = one.pages;
    for (const token of tokens) {
      const page = contents[numbers[Math.floor(one.position / pageTokens)] as number] as PageTokens;
      page.tokens.push({ token, multiplied });
      one.position += 1;
    }
  };
  /** Gives a text pages for more tokens. */
  const advance = (one: Opened, tokens: number): void => {
    const before = one.pages.numbers.length;
    one.pages.advance(tokens);
    for (const number of one.pages.numbers.slice(before)) contents[number] = { tokens: [], assembly: -1, held: 0 };
  };
  const forgetFrom = (one: Opened, position: number): void => {
    const last = Math.floor(position / pageTokens);
    const from = one.pages.numbers[last];
    one.pages.rewind(position);
    one.position = position;
    // States may have changed beyond it.
    if (one.request !== undefined) one.request.held = isRecurrent ? 0 : Math.min(one.request.held, position);
    const to = one.pages.numbers[last];
    if (from === undefined || to === undefined) return;
    const { tokens: all, assembly, ...source } = contents[from] as PageTokens;
    const tokens = all.slice(0, position % pageTokens);
    const held = Math.min(source.held, tokens.length);
    contents[to] = { tokens, assembly, held };
    if (from !== to && held > 0) copies.push({ from, to, tokens: held, assembly });
  };
  /** Evaluates work after the copies that its assembly waits for, since their pages may be written to by any work. */
  const evaluateOn = (head: RecoverableHead, assembly: number, work: readonly RingWork[]): Promise<Float32Array[]> => {
    const waiting = copies.filter((copy) => copy.assembly === assembly);
    copies = [];
    return head.evaluate(
      work,
      waiting.map(({ from, to, tokens }) => ({ from, to, tokens })),
    );
  };

  /**
   * The tokens that devices lack of a text before new ones of a kind: whole runs to evaluate first, and a last one that
   * the new ones join. Tokens in pages of several texts are evaluated first, so that no two texts of a pass write them.
   */
  const missing = (one: Opened, assembly: number, multiplied: Multiplied) => {
    const from = heldOf(one, assembly);
    const shared = Math.max(from, one.pages.sharedPages * pageTokens);
    const before = runsOf(tokensOf(one, from, shared));
    const own = runsOf(tokensOf(one, shared, one.position));
    const joins = own.at(-1)?.multiplied === multiplied;
    return {
      from,
      before: [...before, ...(joins ? own.slice(0, -1) : own)],
      joined: joins ? (own.at(-1)?.tokens ?? []) : [],
    };
  };

  const tryOn = async (head: RecoverableHead, work: readonly RingTextWork[]): Promise<Float32Array[]> => {
    const { assemblies: assembly } = ring;
    const passed: RingWork[] = [];
    const held: number[] = [];
    for (const { text, tokens, rows, wanted, multiplied } of work) {
      const one = openedOf(text);
      const [{ number: request }, pages] = [requestIn(one, head, assembly), one.pages.numbers];
      const { from, before, joined } = missing(one, assembly, multiplied);
      held.push(from);
      let position = from;
      for (const run of before) {
        await evaluateOn(head, assembly, [{ request, pages, position, rows: 0, ...run }]);
        hold(one, assembly, position, position + run.tokens.length);
        position += run.tokens.length;
      }
      passed.push({ request, pages, position, tokens: [...joined, ...tokens], rows, wanted, multiplied });
    }
    const found = await evaluateOn(head, assembly, passed);
    for (const [index, { text, tokens, multiplied }] of work.entries()) {
      const one = openedOf(text);
      one.found ??= held[index];
      append(one, tokens, multiplied);
      hold(one, assembly, (passed[index] as RingWork).position, one.position);
    }
    return found;
  };

  return {
    ...size,
    get freePages() {
      return memory.freePages;
    },
    open(beginning = []) {
      const pages = memory.open(beginning);
      const one: Opened = { pages, found: undefined, position: pages.position, request: undefined };
      const text: RingText = {
        get position() {
          return one.position;
        },
        get sharedPages() {
          return pages.sharedPages;
        },
        get foundTokens() {
          return one.found;
        },
        pagesFor: pages.pagesFor,
        keep: isRecurrent ? () => undefined : pages.keep,
        rewind: (position) => forgetFrom(one, position),
        close() {
          pages.close();
          opened.delete(text);
          if (isRecurrent && one.request !== undefined) unused.push(one.request);
        },
      };
      opened.set(text, one);
      return text;
    },
    async evaluate(work) {
      try {
        for (const { text, tokens } of work) advance(openedOf(text), tokens.length);
        for (;;) {
          const head = await ring.ready();
          try {
            return await tryOn(head, work);
          } catch (error) {
            if (!(error instanceof DeviceLostError || error instanceof RingChangedError)) throw error;
          }
        }
      } catch (error) {
        for (const { text } of work) forgetFrom(openedOf(text), text.position);
        throw error;
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
