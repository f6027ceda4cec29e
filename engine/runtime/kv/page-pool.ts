import type { Kernels } from '../../kernels/kernels.ts';
import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { PageState } from './page-table.ts';
import type { SliceShape } from './slice-shapes.ts';

/** The memory of a page: a slice for each layer that stores keys and values. */
export type Page = readonly (KeyValueCache | undefined)[];

/** One layer's part of a page, in memory. */
export interface HeldSlice extends PageState {
  readonly cache: KeyValueCache;
}

/** Makes, copies and frees slices in the memory of a processor. */
export type SliceKernels = Pick<Kernels, 'cache' | 'copyCache' | 'freeCache'>;
/** The same, with a second memory that slices go to. */
export type MovedSliceKernels = SliceKernels & Pick<Kernels, 'cacheFile'>;

export interface PagePoolOptions {
  /** Pages that fit into memory. */
  readonly pages: number;
  /** The kernels of each layer, in order. */
  readonly kernels: readonly SliceKernels[];
  /** Shapes of each layer's slices. */
  readonly shapes: readonly SliceShape[];
  /** Tokens of a page. */
  readonly capacity: number;
  /** Called with the number of pages in use whenever it changes. */
  readonly onChange?: (pages: number) => void;
}

/**
 * The memory of pages, which is allocated page by page as contexts grow and then reused, on one machine and on the
 * devices of a ring. Sequences that begin alike may use the same page; it is free when none of them uses it.
 */
export interface PagePool {
  /** Pages that can be taken now. */
  readonly free: number;
  /** @throws RangeError if none is free */
  take(): Page;
  /** Takes a page with the contents of another. @throws RangeError if none is free */
  takeCopy(page: Page): Page;
  /** Users of a page in use. @throws RangeError for an unused page */
  usersOf(page: Page): number;
  /** One more user of a page in use. */
  share(page: Page): void;
  /** One user less. @throws RangeError for an unused page */
  giveBack(page: Page): void;
  /** Frees the memory of all pages; the pool must not be used afterwards. */
  close(): void;
}

export function createPagePool({ pages, kernels, shapes, capacity, onChange }: PagePoolOptions): PagePool {
  const users = new Map<Page, number>();
  const unused: Page[] = [];
  const take = (): Page => {
    if (users.size >= pages) throw new RangeError(`no memory for a page: all ${pages} are in use`);
    const page = unused.pop() ?? kernels.map((own, layer) => sliceOf(own, shapes[layer]));
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
      for (const [layer, own] of kernels.entries()) {
        const [from, to] = [page[layer], copy[layer]];
        if (from !== undefined && to !== undefined) own.copyCache(from, to);
      }
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
        for (const [layer, own] of kernels.entries()) {
          const slice = page[layer];
          if (slice !== undefined) own.freeCache(slice);
        }
    },
  };

  function sliceOf(own: SliceKernels, shape: SliceShape): KeyValueCache | undefined {
    return shape && own.cache({ ...shape, capacity });
  }

  function usersOf(page: Page): number {
    const count = users.get(page);
    if (count === undefined) throw new RangeError('a page that nobody uses');
    return count;
  }
}
