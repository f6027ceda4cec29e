import type { KvFormat } from '../../model/kv-format.ts';
import { type ContextCache, type LayerCaches, pagesCache } from '../../runtime/context-cache.ts';
import type { WindowPart } from '../../runtime/gpu-layers.ts';
import { FrameError, type FrameSegment } from '../wire/frame.ts';

/** A device's pages of keys and values by the numbers that the head gave them, and how far each window has filled them. */
export interface NumberedPages {
  /**
   * Whether the tokens before a segment's have gone through a window; not if their pages are empty.
   * @throws FrameError if some of a page are missing
   */
  follows(window: number, segment: PagedTokens): boolean;
  /** Counts a segment's tokens in its pages; those that were after them are forgotten. */
  fill(window: number, segment: PagedTokens): void;
  /** A segment's keys and values up to its last token. Its pages get their memory when they are used first. */
  contextOf(segment: PagedTokens): LayerCaches | ContextCache;
  freeAll(): void;
}

type PagedTokens = Pick<FrameSegment, 'request' | 'position' | 'tokens' | 'pages'>;

export interface NumberedPagesOptions {
  readonly part: Pick<WindowPart, 'createCaches' | 'freeCaches'>;
  readonly layers: readonly number[];
  readonly kvCache: KvFormat;
  /** Tokens that a request can have, and those of a page. */
  readonly context: number;
  readonly pageTokens: number;
}

export function createNumberedPages(options: NumberedPagesOptions): NumberedPages {
  const { part, layers, kvCache, context, pageTokens } = options;
  const caches = new Map<number, LayerCaches>();
  /** Tokens by page, by window; those of waiting frames are among them. */
  const filled = new Map<number, Map<number, number>>();
  const memoryOf = (page: number): LayerCaches => {
    const known = caches.get(page);
    if (known !== undefined) return known;
    const made = part.createCaches(layers, Math.min(pageTokens, context), kvCache);
    caches.set(page, made);
    return made;
  };
  return {
    follows(window, { request, position, pages }) {
      const before = pages.slice(0, Math.ceil(position / pageTokens));
      for (const [index, page] of before.entries()) {
        const tokens = filled.get(window)?.get(page) ?? 0;
        if (tokens === 0) return false;
        const first = index * pageTokens;
        if (first + tokens < Math.min(position, first + pageTokens))
          throw new FrameError(`token ${position} of request ${request}; the next one is ${first + tokens}`);
      }
      return true;
    },
    fill(window, { position, tokens, pages }) {
      const own = filled.get(window) ?? new Map<number, number>();
      filled.set(window, own);
      for (let index = Math.floor(position / pageTokens); index < pages.length; index++)
        own.set(pages[index] as number, Math.min(pageTokens, position + tokens - index * pageTokens));
    },
    contextOf({ position, tokens, pages }) {
      // A page for a whole text is a cache of the whole context.
      if (pageTokens >= context) return memoryOf(pages[0] as number);
      return pagesCache(pages.map(memoryOf), position + tokens);
    },
    freeAll() {
      for (const one of caches.values()) part.freeCaches(one);
      caches.clear();
    },
  };
}

/**
 * Checks the pages of a frame's segments against those that are planned: as many as their tokens need, and none that a
 * segment writes to is another's. @throws FrameError
 */
export function checkPages(
  segments: readonly PagedTokens[],
  { pages: planned, pageTokens }: { readonly pages: number; readonly pageTokens: number },
): void {
  const users = new Map<number, number>();
  for (const { position, tokens, pages } of segments) {
    const needed = Math.ceil((position + tokens) / pageTokens);
    if (pages.length !== needed)
      throw new FrameError(
        `${pages.length} pages for ${position + tokens} tokens; they need ${needed} of ${pageTokens}`,
      );
    for (const page of pages) {
      if (page >= planned) throw new FrameError(`page ${page}; the plan has ${planned}`);
      users.set(page, (users.get(page) ?? 0) + 1);
    }
  }
  for (const { position, pages } of segments)
    for (const page of pages.slice(Math.floor(position / pageTokens)))
      if ((users.get(page) as number) > 1) throw new FrameError(`page ${page}, which two requests of a frame write to`);
}
