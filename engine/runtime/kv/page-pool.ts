import type { Kernels } from '../../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { PageState } from './page-table.ts';

/** The memory of a page: one slice per layer. */
export type Page = readonly KeyValueCache[];

/** One layer's part of a page, in memory. */
export interface HeldSlice extends PageState {
  readonly cache: KeyValueCache;
}

/** Makes, copies and frees slices in the memory of a processor. */
export type SliceKernels = Pick<Kernels, 'cache' | 'copyCache' | 'freeCache'>;

export interface PagePoolOptions {
  /** Pages that fit into memory. */
  readonly pages: number;
  /** The kernels of each layer, in order. */
  readonly kernels: readonly SliceKernels[];
  /** Of a slice. */
  readonly shape: KeyValueCacheShape;
  /** Called with the number of pages in use whenever it changes. */
  readonly onChange?: (pages: number) => void;
}

/**
 * The memory of pages, which is allocated page by page as contexts grow and then reused, on one machine and on the
 * devices of a ring. Sequences that begin alike may use the same page; it is free when nobody uses it.
 */
export interface PagePool {
  /** Pages that can be taken now. */
  readonly free: number;
  /** @throws RangeError if none is free */
  take(): Page;
  /** Takes a page with the contents of another. @throws RangeError if none is free */
  takeCopy(page: Page): Page;
  /** Users of a page in use. @throws RangeError for a page that nobody uses */
  usersOf(page: Page): number;
  /** One more user of a page in use. */
  share(page: Page): void;
  /** One user less. @throws RangeError for a page that nobody uses */
  giveBack(page: Page): void;
  /** Frees the memory of all pages; the pool must not be used afterwards. */
  close(): void;
}

export function createPagePool({ pages, kernels, shape, onChange }: PagePoolOptions): PagePool {
  const users = new Map<Page, number>();
  const unused: Page[] = [];
  const take = (): Page => {
    if (users.size >= pages) throw new RangeError(`no memory for a page: all ${pages} are in use`);
    const page = unused.pop() ?? kernels.map((own) => own.cache(shape));
    users.set(page, 1);
    onChange?.(users.size);
    return page;
  };
  return {
    get free() {
      return pages - users.size;
    },
    take,
    takeCopy(page) {
      const copy = take();
      for (const [layer, own] of kernels.entries())
        own.copyCache(page[layer] as KeyValueCache, copy[layer] as KeyValueCache);
      return copy;
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
    close() {
      for (const page of [...users.keys(), ...unused])
        for (const [layer, own] of kernels.entries()) own.freeCache(page[layer] as KeyValueCache);
    },
  };

  function usersOf(page: Page): number {
    const count = users.get(page);
    if (count === undefined) throw new RangeError('a page that nobody uses');
    return count;
  }
}
