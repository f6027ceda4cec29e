import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { StateKernels } from '../../runtime/kv/layer-states.ts';
import { createPagePool, type MovedSliceKernels, type Page } from '../../runtime/kv/page-pool.ts';
import { type SliceShape, sliceShapes } from '../../runtime/kv/slice-shapes.ts';
import { attendHeld, attendWhole, type TokenSlice, withSinks } from '../../runtime/pass/attention.ts';
import type { LayersMixing } from '../../runtime/pass/context-cache.ts';
import type { Segment } from '../../runtime/pass/layer-batches.ts';
import { recur } from '../../runtime/pass/recurrence.ts';
import type { WindowPart } from '../../runtime/split/gpu-layers.ts';
import { FrameError } from '../wire/frame-error.ts';
import { createHostPages, type HostPages, keysOf, type PagedFrame, type PagedTokens } from './host-pages.ts';
import { createRequestStates } from './request-states.ts';

/** A window's pages of keys and values by the numbers that the head gave them, and how far each is filled. */
export interface NumberedPages {
  /**
   * Counts the tokens of a frame in its pages, and what it copies; those that were after them are forgotten.
   * @returns false, and counts nothing, if the frame goes on in an empty page: the tokens before have not been here
   * @throws FrameError if some tokens before its own are missing, or of those that it copies
   */
  admit(frame: PagedFrame): boolean;
  /**
   * Carries out a frame's copies, one after the other. Pages get their memory when they are used first.
   * @returns its tokens, with the keys and values up to the last of each segment
   */
  begin(frame: PagedFrame): Segment[];
  freeAll(): void;
}

export interface NumberedPagesOptions {
  readonly part: {
    kernelsOf(layer: number): MovedSliceKernels & StateKernels;
    readonly model: Pick<WindowPart['model'], 'kinds' | 'name' | 'hiddenSize'>;
  };
  /** The window's layers: `from` up to, not including, `to`. */
  readonly from: number;
  readonly to: number;
  readonly kvCache: KvFormat;
  /** Tokens that a request can have, and those of a page. */
  readonly context: number;
  readonly pageTokens: number;
  /** Pages that are planned. */
  readonly pages: number;
  /** Requests at the same time. */
  readonly requests: number;
  /** Layers on a GPU whose keys and values are in RAM; missing: none. */
  readonly onHost?: readonly number[] | undefined;
}

export function createNumberedPages(options: NumberedPagesOptions): NumberedPages {
  const { part, from, to, kvCache, context, pageTokens } = options;
  const shapes = sliceShapes(part.model, kvCache, { from, to });
  const capacity = Math.min(pageTokens, context);
  const host = hostPages(options, shapes, capacity);
  const pool = createPagePool({
    pages: options.pages,
    kernels: Array.from({ length: to - from }, (_, index) => part.kernelsOf(from + index)),
    shapes: shapes.map((shape, index) => (host?.has(from + index) ? undefined : shape)),
    capacity,
  });
  const states = createRequestStates(options);
  const memory = new Map<number, Page>();
  /** Tokens by page; those of waiting frames are among them. */
  const filled = new Map<number, number>();
  const memoryOf = (page: number): Page => {
    const known = memory.get(page);
    if (known !== undefined) return known;
    const taken = pool.take();
    memory.set(page, taken);
    return taken;
  };
  /** @param filledOf tokens of a page */
  const follows = ({ request, position, pages }: PagedTokens, filledOf: (page: number) => number): boolean => {
    const before = pages.slice(0, Math.ceil(position / pageTokens));
    for (const [index, page] of before.entries()) {
      const tokens = filledOf(page);
      if (tokens === 0) return false;
      const first = index * pageTokens;
      if (first + tokens < Math.min(position, first + pageTokens))
        throw new FrameError(`token ${position} of request ${request}; the next one is ${first + tokens}`);
    }
    return true;
  };
  return {
    admit({ copies, segments }) {
      const copied = new Map<number, number>();
      const filledOf = (page: number): number => copied.get(page) ?? filled.get(page) ?? 0;
      for (const copy of copies) {
        const has = filledOf(copy.from);
        if (has === 0) return false;
        if (has < copy.tokens)
          throw new FrameError(`a copy of ${copy.tokens} tokens of page ${copy.from}, which has ${has}`);
        copied.set(copy.to, copy.tokens);
      }
      if (!segments.every((segment) => follows(segment, filledOf))) return false;
      if (states !== undefined && !segments.every(states.follows)) return false;
      for (const segment of segments) states?.count(segment);
      for (const [page, tokens] of copied) filled.set(page, tokens);
      for (const { position, tokens, pages } of segments)
        for (let index = Math.floor(position / pageTokens); index < pages.length; index++)
          filled.set(pages[index] as number, Math.min(pageTokens, position + tokens - index * pageTokens));
      return true;
    },
    begin(frame) {
      const { copies, segments } = frame;
      host?.begin(frame);
      for (const copy of copies) {
        const old = memory.get(copy.to);
        if (old !== undefined) pool.giveBack(old);
        memory.set(copy.to, pool.takeCopy(memoryOf(copy.from)));
      }
      return segments.map((segment) => {
        const { pages, position, tokens, multiplied } = segment;
        const own = attentionTo(pages.map(memoryOf), position + tokens);
        const attention = host === undefined ? own : withHost(own, host, host.mix(pages, position + tokens));
        const stateOf = states?.begin(segment);
        return {
          cache: stateOf === undefined ? attention : withStates(attention, stateOf),
          position,
          tokens,
          multiplied,
        };
      });
    },
    freeAll() {
      host?.freeAll();
      pool.close();
    },
  };

  /** This many tokens in pages, of which all but the last are full. */
  function attentionTo(pages: readonly Page[], tokens: number): LayersMixing {
    const sliceOf = (page: Page, layer: number): KeyValueCache => page[layer - from] as KeyValueCache;
    // A page for a whole text is a cache of the whole context.
    if (pageTokens >= context)
      return {
        mix: (layer, inputs, vectors) => ({
          operations: attendWhole(sliceOf(pages[0] as Page, keysOf(layer, inputs)), withSinks(inputs, vectors)),
        }),
      };
    const slices = (layer: number): TokenSlice[] =>
      pages.map((page, index) => {
        const first = index * pageTokens;
        return { cache: sliceOf(page, layer), from: first, to: Math.min(tokens, first + pageTokens) };
      });
    return {
      mix: (layer, inputs, vectors) => ({
        operations: attendHeld(slices(keysOf(layer, inputs)), withSinks(inputs, vectors)),
      }),
    };
  }
}

function hostPages(
  { part, from, onHost = [], pageTokens, pages, requests }: NumberedPagesOptions,
  shapes: readonly SliceShape[],
  capacity: number,
): HostPages | undefined {
  if (onHost.length === 0) return undefined;
  const kernels = new Map(onHost.map((layer) => [layer, part.kernelsOf(layer)] as const));
  return createHostPages({ kernels, shapes, from, pageTokens, capacity, pages, requests });
}

/** @param mix attention of the layers whose keys and values are in RAM next to a GPU */
function withHost(attention: LayersMixing, host: HostPages, mix: LayersMixing['mix']): LayersMixing {
  return {
    mix: (layer, inputs, vectors) => (host.has(layer) ? mix : attention.mix)(layer, inputs, vectors),
  };
}

function withStates(attention: LayersMixing, stateOf: (layer: number) => Vector): LayersMixing {
  return {
    mix: (layer, inputs, vectors) =>
      inputs.kind === 'recurrence'
        ? { operations: recur(inputs, vectors, stateOf(layer)) }
        : attention.mix(layer, inputs, vectors),
  };
}

/**
 * Checks the pages of a frame against those that are planned: each segment has as many as its tokens need, and none that
 * it writes to is another's; a copy has at most the tokens of a page. @throws FrameError
 */
export function checkPages(
  { copies, segments }: PagedFrame,
  { pages: planned, pageTokens }: { readonly pages: number; readonly pageTokens: number },
): void {
  const check = (page: number): void => {
    if (page >= planned) throw new FrameError(`page ${page}; the plan has ${planned}`);
  };
  for (const { from, to, tokens } of copies) {
    check(from);
    check(to);
    if (tokens > pageTokens)
      throw new FrameError(`a copy of ${tokens} tokens of page ${from}; a page has ${pageTokens}`);
  }
  const users = new Map<number, number>();
  for (const { position, tokens, pages } of segments) {
    const needed = Math.ceil((position + tokens) / pageTokens);
    if (pages.length !== needed)
      throw new FrameError(
        `${pages.length} pages for ${position + tokens} tokens; they need ${needed} of ${pageTokens}`,
      );
    for (const page of pages) {
      check(page);
      users.set(page, (users.get(page) ?? 0) + 1);
    }
  }
  for (const { position, pages } of segments)
    for (const page of pages.slice(Math.floor(position / pageTokens)))
      if ((users.get(page) as number) > 1) throw new FrameError(`page ${page}, which two requests of a frame write to`);
}
