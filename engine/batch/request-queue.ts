import { type Beginning, createPrefixIndex } from './prefix-index.ts';
import { type BatchLimits, nextPass, type RequestState, type RequestWork } from './request-policy.ts';

/** A page, which keeps its keys and values until it is released. */
export interface QueuePage {
  /** Whether no text uses it. */
  readonly isIdle: boolean;
  release(): void;
}

/** A request's tokens in pages: a sequence of the runtime, or a simulator's account of one. */
export interface QueueText<Page> {
  /** Tokens evaluated so far. */
  readonly position: number;
  /** Pages of its tokens that other texts use as well. */
  readonly sharedPages: number;
  /** Tokens of others' pages that its first pass found; default: all with which it began. */
  readonly foundTokens?: number | undefined;
  /** Pages that it must take for this many more tokens. */
  pagesFor(tokens: number): number;
  /**
   * Removes all tokens from `position` on. Where the next token would be in a page that is kept or that other texts use,
   * the text has a copy of it.
   */
  rewind(position: number): void;
  /** Keeps a page, by its number; `undefined` if it is kept already. */
  keep(page: number): Page | undefined;
  /** Gives its pages back. */
  close(): void;
}

/** Memory in pages, which all texts share. */
export interface QueueMemory<Text, Page> {
  readonly pageTokens: number;
  /** Pages that are neither used nor kept. */
  readonly freePages: number;
  /** @param beginning pages of other texts with which it begins, each with the tokens of a full one */
  open(beginning: readonly Page[]): Text;
}

/** A request, from its arrival until it is done. */
export interface QueuedRequest {
  /** In the order of arrival: the smaller is the older. */
  readonly id: number;
  readonly promptTokens: number;
  /** The prompt, and the tokens generated so far. */
  readonly history: readonly number[];
  /** Whether it uses pages of others that begin alike, and leaves them its own; default true. */
  readonly sharesPages?: boolean;
}

/** A request's tokens in a pass, and where they are. */
export interface QueuedWork<Request, Text> extends RequestWork {
  readonly request: Request;
  readonly text: Text;
  /** Position of the first of them. */
  readonly from: number;
}

/** The requests of a server that evaluates them together, and their pages. */
export interface RequestQueue<Request, Text> {
  /** Requests that are not done, in the order of arrival. */
  readonly requests: readonly Request[];
  readonly running: number;
  /** Pages that requests could take; those kept for prompts that begin alike are among them. */
  readonly freePages: number;
  add(request: Request): void;
  /** Gives its pages back; it is done. */
  remove(id: number): void;
  /** Tokens of its prompt that were there in its first pass; 0 before it began. */
  cachedTokens(id: number): number;
  /**
   * The next pass: requests are preempted and begin, and room is made for its tokens. Empty only without requests, or
   * after preemption.
   */
  next(): readonly QueuedWork<Request, Text>[];
  /** The work of a pass has been evaluated: pages of a prompt that are full now are kept. */
  evaluated(work: Pick<QueuedWork<Request, Text>, 'id' | 'from'>): void;
  /** Releases the pages that are kept. */
  close(): void;
}

/** A request that is not done. */
interface Open<Request, Text> {
  readonly request: Request;
  /** While it runs. */
  text: Text | undefined;
  cachedTokens: number | undefined;
  /** Whether it has been in a pass. */
  isBegun: boolean;
}

/**
 * Carries out what `nextPass` chooses, on any memory: the server's scheduler, and the simulator's. Pages of prompts are
 * kept for others that begin alike until their memory is needed: full ones at once, the last one, which others copy, when
 * its text is done. Generated tokens in pages are not used: native kernels multiply them one by one, which rounds
 * differently, and a text must not depend on what others have evaluated.
 */
export function createRequestQueue<Request extends QueuedRequest, Text extends QueueText<Page>, Page extends QueuePage>(
  memory: QueueMemory<Text, Page>,
  limits: BatchLimits,
): RequestQueue<Request, Text> {
  const { pageTokens } = limits;
  const prefixes = createPrefixIndex<Page>(pageTokens);
  const open = new Map<number, Open<Request, Text>>();
  const isIdle = (page: Page): boolean => page.isIdle;
  const freePages = (): number => memory.freePages + prefixes.count(isIdle);
  const stop = (one: Open<Request, Text>): void => {
    one.text?.close();
    one.text = undefined;
  };
  const beginningOf = (request: Request, find = prefixes.find): Beginning<Page> => find(sharable(request));
  /** Begins with pages of others: all of them before one is copied, since pages in use stay. */
  const begin = (admitted: readonly Open<Request, Text>[]): void => {
    const begun = admitted.map((one) => {
      const { pages, part } = beginningOf(one.request, prefixes.use);
      const text = memory.open(part === undefined ? pages : [...pages, part.page]);
      const tokens = pages.length * pageTokens + (part?.tokens ?? 0);
      one.text = text;
      one.cachedTokens ??= tokens;
      return { text, part, tokens };
    });
    for (const { text, part, tokens } of begun) {
      if (part === undefined) continue;
      makeRoom(1);
      // Without another free page, the text has this one, which no other text uses.
      if (memory.freePages === 0) prefixes.evict((page) => page === part.page)?.release();
      text.rewind(tokens);
    }
  };
  /** Releases pages that are only kept until this many are free. */
  const makeRoom = (needed: number): void => {
    while (memory.freePages < needed) {
      const page = prefixes.evict(isIdle);
      if (page === undefined) return;
      page.release();
    }
  };
  /** Keeps what pages hold of a text's prompt, up to a token. */
  const keep = ({ request, text }: Open<Request, Text>, end: number): void => {
    if (text === undefined || request.sharesPages === false) return;
    const tokens = Math.min(end, text.position, request.promptTokens);
    prefixes.add(request.history.slice(0, tokens), (page) => text.keep(page));
  };
  const stateOf = ({ request, text }: Open<Request, Text>): RequestState => {
    const { id, promptTokens, history } = request;
    const isRunning = text !== undefined;
    // Found only when it is asked for: among those that wait, of the oldest.
    const found = lazily(() => beginningOf(request));
    return {
      ...{ id, promptTokens, isRunning },
      tokens: history.length,
      evaluated: text?.position ?? 0,
      ownPages: text === undefined ? 0 : Math.ceil(text.position / pageTokens) - text.sharedPages,
      get shared() {
        return isRunning ? 0 : found().pages.length * pageTokens + (found().part?.tokens ?? 0);
      },
      get idlePages() {
        return isRunning ? 0 : found().pages.filter(isIdle).length;
      },
    };
  };
  return {
    get requests() {
      return [...open.values()].map(({ request }) => request);
    },
    get running() {
      return [...open.values()].filter(({ text }) => text !== undefined).length;
    },
    get freePages() {
      return freePages();
    },
    add(request) {
      open.set(request.id, { request, text: undefined, cachedTokens: undefined, isBegun: false });
    },
    remove(id) {
      const one = open.get(id);
      if (one === undefined) return;
      keep(one, Number.POSITIVE_INFINITY);
      stop(one);
      open.delete(id);
    },
    cachedTokens: (id) => open.get(id)?.cachedTokens ?? 0,
    next() {
      const pass = nextPass([...open.values()].map(stateOf), freePages(), limits);
      for (const id of pass.preempted) stop(open.get(id) as Open<Request, Text>);
      begin(pass.admitted.map((id) => open.get(id) as Open<Request, Text>));
      const work = pass.work.map((own) => {
        const { request, text } = open.get(own.id) as Open<Request, Text> & { text: Text };
        return { ...own, request, text, from: text.position };
      });
      makeRoom(work.reduce((sum, { text, count }) => sum + text.pagesFor(count), 0));
      return work;
    },
    evaluated({ id, from }) {
      const one = open.get(id) as Open<Request, Text>;
      if (!one.isBegun) one.cachedTokens = one.text?.foundTokens ?? one.cachedTokens;
      one.isBegun = true;
      const full = pageTokens * Math.floor((one.text?.position ?? 0) / pageTokens);
      if (full > from && from < one.request.promptTokens) keep(one, full);
    },
    close() {
      for (const page of prefixes.clear()) page.release();
    },
  };
}

/** The tokens whose pages others may have: not the last of the prompt, whose logits are needed. */
function sharable({ history, promptTokens, sharesPages = true }: QueuedRequest): readonly number[] {
  return sharesPages ? history.slice(0, promptTokens - 1) : [];
}

function lazily<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
