import type { QueueMemory, QueuePage, QueueText } from './request-queue.ts';

/** A text whose tokens are counted. */
export interface CountedText extends QueueText<CountedPage> {
  /** The numbers of its pages, in order. */
  readonly numbers: readonly number[];
  /** @throws RangeError if there are too few free pages */
  advance(tokens: number): void;
  /** @throws RangeError if there is no page for the copy */
  rewind(position: number): void;
}

/**
 * Memory in numbered pages that holds nothing and counts who uses which: what a simulator schedules on, and a ring's
 * head, whose devices hold the pages.
 */
export interface CountedPages extends QueueMemory<CountedText, CountedPage> {
  readonly pages: number;
}

export interface CountedPage extends QueuePage {
  readonly number: number;
}

interface Counted extends CountedPage {
  /** Texts that use it. */
  users: number;
  isKept: boolean;
}

export function createCountedPages({ pages, pageTokens }: Pick<CountedPages, 'pages' | 'pageTokens'>): CountedPages {
  /** Numbers of pages that were given back, and the first of those that were never used. */
  const returned: number[] = [];
  let unused = 0;
  const free = (): number => returned.length + pages - unused;
  const giveBack = ({ users, isKept, number }: Counted): void => {
    if (users === 0 && !isKept) returned.push(number);
  };
  const take = (): Counted => {
    if (free() === 0) throw new RangeError(`all ${pages} pages are in use`);
    const page: Counted = {
      number: returned.pop() ?? unused++,
      users: 1,
      isKept: false,
      get isIdle() {
        return page.users === 0;
      },
      release() {
        page.isKept = false;
        giveBack(page);
      },
    };
    return page;
  };
  return {
    ...{ pages, pageTokens },
    get freePages() {
      return free();
    },
    open(beginning) {
      const own = beginning as Counted[];
      for (const page of own) page.users += 1;
      return openText([...own]);
    },
  };

  function openText(own: Counted[]): CountedText {
    let position = own.length * pageTokens;
    const leave = (left: readonly Counted[]): void => {
      for (const page of left) {
        page.users -= 1;
        giveBack(page);
      }
    };
    const copyIfShared = (index: number): void => {
      const page = own[index] as Counted;
      if (!page.isKept && page.users === 1) return;
      own[index] = take();
      leave([page]);
    };
    const pagesFor = (tokens: number): number => Math.ceil((position + tokens) / pageTokens) - own.length;
    return {
      get position() {
        return position;
      },
      get numbers() {
        return own.map(({ number }) => number);
      },
      get sharedPages() {
        return own.filter(({ users }) => users > 1).length;
      },
      pagesFor,
      advance(tokens) {
        for (let missing = pagesFor(tokens); missing > 0; missing--) own.push(take());
        position += tokens;
      },
      rewind(to) {
        if (!(Number.isInteger(to) && to >= 0 && to <= position))
          throw new RangeError(`rewind to ${to} of ${position} tokens`);
        const last = Math.floor(to / pageTokens);
        if (to % pageTokens > 0) copyIfShared(last);
        leave(own.splice(Math.ceil(to / pageTokens)));
        position = to;
      },
      keep(index) {
        const page = own[index];
        if (page === undefined || page.isKept) return undefined;
        page.isKept = true;
        return page;
      },
      close() {
        leave(own.splice(0));
      },
    };
  }
}
