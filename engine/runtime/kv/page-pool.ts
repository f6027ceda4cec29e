import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { PageState } from './page-table.ts';

/** The memory of a page: one slice per layer. */
export type Page = readonly KeyValueCache[];

/** One layer's part of a page, in memory. */
export interface HeldSlice extends PageState {
  readonly cache: KeyValueCache;
}

export interface PagePoolOptions {
  /** Pages that fit into memory. */
  readonly pages: number;
  /** Allocates a page. */
  readonly makePage: () => Page;
  /** Called with the number of pages in use whenever it changes. */
  readonly onChange?: (pages: number) => void;
}

/**
 * The memory of pages, which is allocated page by page as contexts grow and then reused. Sequences that begin alike may
 * use the same page; it is free when nobody uses it.
 */
export interface PagePool {
  /** Pages that can be taken now. */
  readonly free: number;
  /** @throws RangeError if none is free */
  take(): Page;
  /** Users of a page in use. @throws RangeError for a page that nobody uses */
  usersOf(page: Page): number;
  /** One more user of a page in use. */
  share(page: Page): void;
  /** One user less. @throws RangeError for a page that nobody uses */
  giveBack(page: Page): void;
}

export function createPagePool({ pages, makePage, onChange }: PagePoolOptions): PagePool {
  const users = new Map<Page, number>();
  const unused: Page[] = [];
  return {
    get free() {
      return pages - users.size;
    },
    take() {
      if (users.size >= pages) throw new RangeError(`no memory for a page: all ${pages} are in use`);
      const page = unused.pop() ?? makePage();
      users.set(page, 1);
      onChange?.(users.size);
      return page;
    },
    usersOf,
    share(page) {
      users.set(page, usersOf(page) + 1);
    },
    giveBack(page) {
      const others = usersOf(page) - 1;
      if (others > 0) {
        users.set(page, others);
        return;
      }
      users.delete(page);
      unused.push(page);
      onChange?.(users.size);
    },
  };

  function usersOf(page: Page): number {
    const count = users.get(page);
    if (count === undefined) throw new RangeError('a page that nobody uses');
    return count;
  }
}
