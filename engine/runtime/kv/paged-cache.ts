import type { Kernels } from '../../kernels/kernels.ts';
import type { CacheFile, CacheJob, KeyValueCache, KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { createPageStream, type PageStream } from './page-stream.ts';
import { createPageTable, type PageState } from './page-table.ts';
import type { PagesPlan } from './plan-pages.ts';

export interface PagedCacheOptions {
  readonly kernels: Kernels;
  readonly plan: PagesPlan;
  readonly shape: Omit<KeyValueCacheShape, 'capacity'>;
  /** Path of the file that evicted pages are written to. */
  readonly folder: string;
  readonly recorder?: RunRecorder | undefined;
}

/** A layer's part of a page in memory. */
export interface HeldSlice extends PageState {
  readonly cache: KeyValueCache;
}

/**
 * Keys and values of all layers in pages of so many tokens: as many as memory holds, the newest, and the others in a file
 * (HELM 4.2.2). Above the watermark the oldest page is written to the file while the computation goes on, and its memory
 * taken once that is done; from the file its slices come back for every pass, read ahead, to be attended to one by one.
 */
export interface PagedCache {
  readonly tokens: number;
  /** Tokens that the next pass may have at most: a pass fills no more than one page. */
  readonly room: number;
  /** Pages that are in the file alone. */
  readonly evicted: number;
  states(): PageState[];
  /** Makes room for `tokens` before they go through the layers. May wait until a page has been written to the file. */
  begin(tokens: number): void;
  /** The slices of a layer that are in memory; the page that tokens are written to comes last. */
  held(layer: number): HeldSlice[];
  /**
   * What is not, oldest first, as many slices together as are there, at most half of those that pass through. They are gone
   * when the next ones are asked for, of this layer or another, or the next pass begins.
   */
  passing(layer: number): Iterable<readonly HeldSlice[]>;
  rewind(tokens: number): void;
}

/** @throws InputError where no file can be made, or memory isn't granted; while it is used, where the disk fails */
export function createPagedCache(options: PagedCacheOptions): PagedCache {
  const { kernels, plan, shape, folder, recorder } = options;
  const { pageTokens, layers, sliceBytes } = plan;
  const table = createPageTable(pageTokens);
  /** The slices of the pages that take memory, by page. */
  const slices = new Map<number, readonly KeyValueCache[]>();
  const free: KeyValueCache[][] = [];
  const leaving: { readonly page: number; readonly jobs: readonly CacheJob[] }[] = [];
  let made = 0;
  let opened: { readonly file: CacheFile; readonly stream: PageStream } | undefined;
  /** Pages on both sides, as they are while tokens go through the layers. */
  let pass: { readonly held: readonly PageState[]; readonly evicted: readonly PageState[] } | undefined;
  const pagesOfPass = () => {
    if (pass !== undefined) return pass;
    const states = table.states();
    pass = { held: states.slice(table.evicted), evicted: states.slice(0, table.evicted) };
    return pass;
  };
  /** Slices of the stream that attention is reading. */
  const lent: KeyValueCache[] = [];

  const makeSlices = (count: number): KeyValueCache[] =>
    Array.from({ length: count }, () => kernels.cache({ ...shape, capacity: pageTokens }));
  const placeOf = (layer: number, page: number): number => page * layers + layer;
  const secondPool = () => {
    if (opened !== undefined) return opened;
    const caches = makeSlices(plan.passingSlices);
    const file = kernels.cacheFile(folder, caches[0] as KeyValueCache);
    opened = { file, stream: createPageStream({ file, layers, caches, placeOf, sliceBytes, recorder }) };
    return opened;
  };
  const sample = (): void =>
    recorder?.sample('KV cache in memory (bytes)', performance.now() / 1000, slices.size * layers * sliceBytes);

  const giveBack = (): void => {
    for (const cache of lent.splice(0)) opened?.stream.giveBack(cache);
  };
  const startLeaving = (): void => {
    const { file } = secondPool();
    const page = table.leave();
    const own = slices.get(page) ?? [];
    leaving.push({ page, jobs: own.map((cache, layer) => file.write(cache, placeOf(layer, page))) });
  };
  const finishLeaving = (): void => {
    const { page, jobs } = leaving.shift() as (typeof leaving)[number];
    for (const [layer, job] of jobs.entries()) {
      const what = `KV page ${page} of layer ${layer}`;
      const span = { ...job.wait(), args: { bytes: sliceBytes, what } };
      recorder?.span({ lane: 'disk', cause: 'deviceCopy', name: 'eviction', ...span });
    }
    free.push(slices.get(table.evict()) as KeyValueCache[]);
    slices.delete(page);
    sample();
  };
  const takePage = (page: number): readonly KeyValueCache[] => {
    let own = free.pop();
    if (own === undefined) {
      own = makeSlices(layers);
      made += 1;
    }
    slices.set(page, own);
    sample();
    return own;
  };
  const makeRoom = (): void => {
    const asked = performance.now() / 1000;
    let waited = false;
    while (free.length === 0 && made === plan.pages) {
      if (leaving.length === 0) startLeaving();
      waited ||= leaving[0]?.jobs.some((job) => job.poll() === undefined) === true;
      finishLeaving();
    }
    const span = { lane: 'cpu', cause: 'disk', name: 'waits for the oldest KV page to leave', args: {} } as const;
    if (waited) recorder?.span({ ...span, start: asked, end: performance.now() / 1000 });
  };

  return {
    get tokens() {
      return table.tokens;
    },
    get room() {
      return table.room();
    },
    get evicted() {
      return table.evicted;
    },
    states: () => table.states(),
    begin(tokens) {
      giveBack();
      pass = undefined;
      while (leaving[0]?.jobs.every((job) => job.poll() !== undefined)) finishLeaving();
      if (table.room() === pageTokens) {
        makeRoom();
        takePage(table.pages);
      }
      table.append(tokens);
      while (table.held - table.leaving > Math.max(1, plan.keptPages)) startLeaving();
    },
    held: (layer) =>
      pagesOfPass().held.map((state) => ({ ...state, cache: slices.get(state.page)?.[layer] as KeyValueCache })),
    *passing(layer) {
      const { evicted } = pagesOfPass();
      if (evicted.length === 0) return;
      const { stream } = secondPool();
      const most = Math.max(1, Math.floor(plan.passingSlices / 2));
      for (let next = 0; next < evicted.length; next += lent.length) {
        giveBack();
        const slices: HeldSlice[] = [];
        for (const state of evicted.slice(next, next + most)) {
          if (slices.length > 0 && !stream.isReady()) break;
          const cache = stream.take(layer, state.page, evicted.length);
          lent.push(cache);
          slices.push({ ...state, cache });
        }
        yield slices;
      }
    },
    rewind(tokens) {
      giveBack();
      pass = undefined;
      while (leaving.length > 0) finishLeaving();
      const { fetched, pages } = table.rewind(tokens);
      for (let page = table.pages; page < pages; page++) {
        const own = slices.get(page);
        if (own !== undefined) free.push(own as KeyValueCache[]);
        slices.delete(page);
      }
      opened?.stream.reset();
      if (fetched === undefined) return;
      // Nothing newer is left, so there is room.
      const { file } = secondPool();
      const jobs = takePage(fetched).map((cache, layer) => file.read(cache, placeOf(layer, fetched)));
      for (const job of jobs) job.wait();
    },
  };
}
