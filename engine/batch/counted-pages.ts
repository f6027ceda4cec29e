import type { QueueMemory, QueuePage, QueueText } from './request-queue.ts';

/** A text whose tokens are counted. */
export interface CountedText extends QueueText<QueuePage> {
  /** @throws RangeError if there are too few free pages */
  advance(tokens: number): void;
}

/** Memory in pages that holds nothing and counts who uses which: what a simulator schedules on. */
export interface CountedPages extends QueueMemory<CountedText, QueuePage> {
  readonly pages: number;
}

interface CountedPage extends QueuePage {
  /** Texts that use it. */
  users: number;
  isKept: boolean;
}

export function createCountedPages(pages: number, pageTokens: number): CountedPages {
  let free = pages;
  const giveBack = ({ users, isKept }: CountedPage): void => {
    if (users === 0 && !isKept) free += 1;
  };
  const take = (): CountedPage => {
    if (free === 0) throw new RangeError(`all ${pages} pages are in use`);
    free -= 1;
    const page: CountedPage = {
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
      return free;
    },
    open(beginning) {
      const own = beginning as CountedPage[];
      for (const page of own) page.users += 1;
      return openText([...own]);
    },
  };

  function openText(own: CountedPage[]): CountedText {
    let position = own.length * pageTokens;
    const pagesFor = (tokens: number): number => Math.ceil((position + tokens) / pageTokens) - own.length;
    return {
      get position() {
        return position;
      },
      get sharedPages() {
        return own.filter(({ users }) => users > 1).length;
      },
      pagesFor,
      advance(tokens) {
        for (let missing = pagesFor(tokens); missing > 0; missing--) own.push(take());
        position += tokens;
      },
      keep(number) {
        const page = own[number];
        if (page === undefined || page.isKept) return undefined;
        page.isKept = true;
        return page;
      },
      close() {
        for (const page of own.splice(0)) {
          page.users -= 1;
          giveBack(page);
        }
      },
    };
  }
}
