import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { PageState } from './page-table.ts';

/** One layer's part of a page, in memory. */
export interface HeldSlice extends PageState {
  readonly cache: KeyValueCache;
}

export interface PageMemoryOptions {
  /** Pages that fit into memory. */
  readonly pages: number;
  /** Allocates a page: one slice per layer. */
  readonly makePage: () => readonly KeyValueCache[];
  /** Called with the number of pages in memory whenever it changes. */
  readonly onChange: (pages: number) => void;
}

/** The memory of pages, which is allocated page by page as the context grows and then reused. */
export interface PageMemory {
  /** Whether `take` can succeed: memory is free or may be allocated. */
  readonly hasRoom: boolean;
  /** Assigns memory to a page. @returns its slices, one per layer. @throws RangeError if there is no room */
  take(page: number): readonly KeyValueCache[];
  /** The slices of a page in memory, one per layer. @throws RangeError for any other page */
  slicesOf(page: number): readonly KeyValueCache[];
  /** Frees a page's memory; no effect for a page that is not in memory. */
  free(page: number): void;
}

export function createPageMemory({ pages, makePage, onChange }: PageMemoryOptions): PageMemory {
  const taken = new Map<number, readonly KeyValueCache[]>();
  const unused: (readonly KeyValueCache[])[] = [];
  const hasRoom = (): boolean => unused.length > 0 || taken.size < pages;
  return {
    get hasRoom() {
      return hasRoom();
    },
    take(page) {
      if (!hasRoom()) throw new RangeError(`no memory for page ${page}: it holds ${pages} pages`);
      const slices = unused.pop() ?? makePage();
      taken.set(page, slices);
      onChange(taken.size);
      return slices;
    },
    slicesOf(page) {
      const slices = taken.get(page);
      if (slices === undefined) throw new RangeError(`page ${page} is not in memory`);
      return slices;
    },
    free(page) {
      const slices = taken.get(page);
      if (slices === undefined) return;
      unused.push(slices);
      taken.delete(page);
      onChange(taken.size);
    },
  };
}
