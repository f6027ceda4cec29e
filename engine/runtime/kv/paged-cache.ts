import type { Kernels } from '../../kernels/kernels.ts';
import type { CacheFile, KeyValueCache, KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { createPageMemory, type HeldSlice } from './page-memory.ts';
import { createPageStream, type PageStream } from './page-stream.ts';
import { createPageTable, type PageState } from './page-table.ts';
import { createPageWriter, type PageWriter } from './page-writer.ts';
import type { PagesPlan } from './plan-pages.ts';

export interface PagedCacheOptions {
  readonly kernels: Kernels;
  readonly plan: PagesPlan;
  readonly shape: Omit<KeyValueCacheShape, 'capacity'>;
  /** Folder for the file of evicted pages. */
  readonly folder: string;
  readonly recorder?: RunRecorder | undefined;
}

/**
 * Keys and values of all layers in pages of a fixed number of tokens: the newest pages are in memory, the others in a
 * file (HELM 4.2.2). Above the watermark the oldest page is written to the file during computation, and its memory is
 * reused afterwards; for every pass its slices are read ahead from the file and attended to one by one.
 */
export interface PagedCache {
  readonly tokens: number;
  /** Most tokens of the next pass: a pass fills at most one page. */
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
  rewind(tokens: number): void;
}

/** @throws InputError if the file can't be created or memory isn't granted; during use, if the disk fails */
export function createPagedCache(options: PagedCacheOptions): PagedCache {
  const { kernels, plan, shape, folder, recorder } = options;
  const { pageTokens, layers, sliceBytes } = plan;
  const table = createPageTable(pageTokens);
  const makeSlices = (count: number): KeyValueCache[] =>
    Array.from({ length: count }, () => kernels.cache({ ...shape, capacity: pageTokens }));
  const memory = createPageMemory({
    pages: plan.pages,
    makePage: () => makeSlices(layers),
    onChange: (pages) =>
      recorder?.sample('KV cache in memory (bytes)', performance.now() / 1000, pages * layers * sliceBytes),
  });
  const placeOf = (layer: number, page: number): number => page * layers + layer;
  let opened: { readonly file: CacheFile; readonly writer: PageWriter; readonly stream: PageStream } | undefined;
  const secondPool = () => {
    if (opened !== undefined) return opened;
    const caches = makeSlices(plan.passingSlices);
    const file = kernels.cacheFile(folder, caches[0] as KeyValueCache);
    const common = { file, placeOf, sliceBytes, recorder };
    opened = { file, writer: createPageWriter(common), stream: createPageStream({ ...common, layers, caches }) };
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
    writer.start(page, memory.slicesOf(page));
  };
  const finishLeaving = (writer: PageWriter): void => {
    memory.free(writer.finish());
    table.evict();
  };
  /** Waits for the oldest page to be written if memory is full. */
  const makeRoom = (): void => {
    const asked = performance.now() / 1000;
    let waited = false;
    while (!memory.hasRoom) {
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
      return table.room();
    },
    get evicted() {
      return table.evicted;
    },
    states: () => table.states(),
    begin(tokens) {
      endPass();
      while (opened?.writer.isDone()) finishLeaving(opened.writer);
      if (table.room() === pageTokens) {
        makeRoom();
        memory.take(table.pages);
      }
      table.append(tokens);
      while (table.held - table.leaving > Math.max(1, plan.keptPages)) startLeaving();
    },
    held: (layer) =>
      pagesOfPass().held.map((state) => ({ ...state, cache: memory.slicesOf(state.page)[layer] as KeyValueCache })),
    passing(layer) {
      const { evicted } = pagesOfPass();
      return evicted.length === 0 ? [] : secondPool().stream.pass(layer, evicted);
    },
    rewind(tokens) {
      endPass();
      while (opened !== undefined && opened.writer.pages > 0) finishLeaving(opened.writer);
      const { fetched, pages } = table.rewind(tokens);
      for (let page = table.pages; page < pages; page++) memory.free(page);
      opened?.stream.reset();
      if (fetched === undefined) return;
      // No newer pages remain, so there is room.
      const { file } = secondPool();
      const jobs = memory.take(fetched).map((cache, layer) => file.read(cache, placeOf(layer, fetched)));
      for (const job of jobs) job.wait();
    },
  };
}
