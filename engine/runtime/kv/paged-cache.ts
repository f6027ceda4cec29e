import type { Kernels } from '../../kernels/kernels.ts';
import type { CacheFile, CachePlace, KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { createPagePool, type HeldSlice, type Page, type PagePool } from './page-pool.ts';
import { createPageStream, type PageStream } from './page-stream.ts';
import { createPageTable, type PageState } from './page-table.ts';
import { createPageWriter, type PageWriter } from './page-writer.ts';
import type { PagesPlan } from './plan-pages.ts';
import { commonSlice, type SliceShape } from './slice-shapes.ts';

export interface PagedCacheOptions {
  readonly kernels: Kernels;
  readonly plan: PagesPlan;
  /** Shapes of each layer's slices. */
  readonly shapes: readonly SliceShape[];
  /** Destination of evicted pages. */
  readonly place: CachePlace;
  readonly recorder?: RunRecorder | undefined;
  /** Memory that sequences share; default: as much as the plan has, for this one alone. */
  readonly pool?: PagePool | undefined;
}

/** Memory for the pages of a plan, in which slices are caches of the kernels. */
export function slicePool({ kernels, plan, shapes, recorder }: Omit<PagedCacheOptions, 'place' | 'pool'>): PagePool {
  const { pageTokens, layers, sliceBytes } = plan;
  return createPagePool({
    pages: plan.pages,
    kernels: new Array<Kernels>(layers).fill(kernels),
    ...{ shapes, capacity: pageTokens },
    onChange: (pages) =>
      recorder?.sample('KV cache in memory (bytes)', performance.now() / 1000, pages * layers * sliceBytes),
  });
}

/**
 * Keys and values of all layers in pages of a fixed number of tokens: the newest pages are in memory, the others in a
 * file (HELM 4.2.2). Above the watermark the oldest page is written to the file during computation, and its memory is
 * reused afterwards; for every pass its slices are read ahead from the file and attended to one by one.
 */
export interface PagedCache {
  readonly tokens: number;
  /** Most tokens of the next pass: it fills pages that need no other to be evicted, or the last one. */
  readonly room: number;
  /** Pages that are only in the file. */
  readonly evicted: number;
  states(): PageState[];
  /** Makes room for `tokens` before they go through the layers. May wait until a page has been written to the file. */
  begin(tokens: number): void;
  /** The slices of a layer that are in memory, the page that is written to last. */
  held(layer: number): HeldSlice[];
  /**
   * The slices of a layer that are only in the file, oldest first, a few together (see `PageStream.pass`). They become
   * invalid at the next call, for this layer or another, and at the next pass.
   */
  passing(layer: number): Iterable<readonly HeldSlice[]>;
  /** The memory of all pages that have any. */
  readonly memory: Iterable<Page>;
  /** The memory of a page. @throws RangeError unless it is in memory */
  memoryOf(page: number): Page;
  /** Begins with pages that others use as well, each with the tokens of a full one. @throws RangeError unless it is empty */
  beginWith(pages: readonly Page[]): void;
  /**
   * A page that the next token would be written to, and that others use as well, is copied.
   * @throws RangeError if there is no room for the copy
   */
  rewind(tokens: number): void;
  /** Gives all memory back; only `begin` may follow, with the first token. */
  release(): void;
}

/** Destination of evicted pages, and the memory through which they pass. */
interface SecondPool {
  readonly file: CacheFile;
  readonly caches: readonly KeyValueCache[];
  readonly writer: PageWriter;
  readonly stream: PageStream;
}

/** @throws InputError if the file can't be created or memory isn't granted; during use, if the disk fails */
export function createPagedCache(options: PagedCacheOptions): PagedCache {
  const { kernels, plan, shapes, place, recorder, pool = slicePool(options) } = options;
  const { pageTokens, layers, sliceBytes } = plan;
  const table = createPageTable(pageTokens);
  /** The pages in memory. */
  const memory = new Map<number, Page>();
  const take = (page: number): Page => {
    const slices = pool.take();
    memory.set(page, slices);
    return slices;
  };
  const free = (page: number): void => {
    const slices = memory.get(page);
    if (slices !== undefined) pool.giveBack(slices);
    memory.delete(page);
  };
  /** Gives the context a page of its own with the contents of one that others use as well. */
  const copyIfShared = (page: number): void => {
    const shared = memory.get(page);
    if (shared === undefined || pool.usersOf(shared) === 1) return;
    memory.set(page, pool.takeCopy(shared));
    pool.giveBack(shared);
  };
  const placeOf = (layer: number, page: number): number => page * layers + layer;
  let opened: SecondPool | undefined;
  const secondPool = (): SecondPool => {
    if (opened !== undefined) return opened;
    const shape = { ...commonSlice(shapes), capacity: pageTokens };
    const caches = Array.from({ length: plan.passingSlices }, () => kernels.cache(shape));
    const file = kernels.cacheFile(place, caches[0] as KeyValueCache);
    const common = { file, placeOf, sliceBytes, recorder };
    const stream = createPageStream({ ...common, layers, caches });
    opened = { file, caches, writer: createPageWriter(common), stream };
    return opened;
  };

  /** Pages in memory and in the file during a pass. */
  let pass: { readonly held: readonly PageState[]; readonly evicted: readonly PageState[] } | undefined;
  const pagesOfPass = () => {
    if (pass !== undefined) return pass;
    const states = table.states();
    pass = { held: states.slice(table.evicted), evicted: states.slice(0, table.evicted) };
    return pass;
  };
  const endPass = (): void => {
    opened?.stream.giveBack();
    pass = undefined;
  };

  const startLeaving = (): void => {
    const { writer } = secondPool();
    const page = table.leave();
    writer.start(page, memory.get(page) as readonly KeyValueCache[]);
  };
  const finishLeaving = (writer: PageWriter): void => {
    free(writer.finish());
    table.evict();
  };
  /** Waits for the oldest page to be written if memory is full. */
  const makeRoom = (): void => {
    const asked = performance.now() / 1000;
    let waited = false;
    while (pool.free === 0) {
      const { writer } = secondPool();
      if (writer.pages === 0) startLeaving();
      waited ||= !writer.isDone();
      finishLeaving(writer);
    }
    const span = { lane: 'cpu', cause: 'disk', name: 'waits for the oldest KV page to leave', args: {} } as const;
    if (waited) recorder?.span({ ...span, start: asked, end: performance.now() / 1000 });
  };

  return {
    get tokens() {
      return table.tokens;
    },
    get room() {
      const last = table.room();
      const more = Math.min(pool.free, plan.keptPages - (table.held - table.leaving));
      return last === pageTokens ? Math.max(1, more) * pageTokens : last + Math.max(0, more) * pageTokens;
    },
    get evicted() {
      return table.evicted;
    },
    states: () => table.states(),
    begin(tokens) {
      endPass();
      while (opened?.writer.isDone()) finishLeaving(opened.writer);
      for (let left = tokens; left > 0; ) {
        const last = table.room();
        if (last === pageTokens) {
          makeRoom();
          take(table.pages);
        }
        table.append(Math.min(left, last));
        left -= Math.min(left, last);
      }
      while (table.held - table.leaving > Math.max(1, plan.keptPages)) startLeaving();
    },
    held: (layer) =>
      pagesOfPass().held.map((state) => ({ ...state, cache: memory.get(state.page)?.[layer] as KeyValueCache })),
    passing(layer) {
      const { evicted } = pagesOfPass();
      return evicted.length === 0 ? [] : secondPool().stream.pass(layer, evicted);
    },
    get memory() {
      return memory.values();
    },
    memoryOf(page) {
      const slices = memory.get(page);
      if (slices === undefined) throw new RangeError(`page ${page} is not in memory`);
      return slices;
    },
    beginWith(pages) {
      if (table.tokens > 0) throw new RangeError('pages for a context that has tokens');
      for (const [page, slices] of pages.entries()) {
        pool.share(slices);
        memory.set(page, slices);
        table.append(pageTokens);
      }
    },
    rewind(tokens) {
      const last = Math.floor(tokens / pageTokens);
      if (tokens % pageTokens > 0) copyIfShared(last);
      endPass();
      while (opened !== undefined && opened.writer.pages > 0) finishLeaving(opened.writer);
      const { fetched, pages } = table.rewind(tokens);
      for (let page = table.pages; page < pages; page++) free(page);
      opened?.stream.reset();
      if (fetched === undefined) return;
      // No newer pages remain, so there is room.
      const { file } = secondPool();
      const slices = take(fetched) as readonly KeyValueCache[];
      const jobs = slices.map((cache, layer) => file.read(cache, placeOf(layer, fetched)));
      for (const job of jobs) job.wait();
    },
    release() {
      endPass();
      while (opened !== undefined && opened.writer.pages > 0) finishLeaving(opened.writer);
      for (const page of [...memory.keys()]) free(page);
      table.rewind(0);
      opened?.stream.reset();
      opened?.file.close();
      for (const cache of opened?.caches ?? []) kernels.freeCache(cache);
      opened = undefined;
    },
  };
}
