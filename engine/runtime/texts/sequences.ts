import type { ExpertReads } from '../../experts/expert-reads.ts';
import { InputError } from '../../input/input-error.ts';
import type { MultiplyOperation } from '../../kernels/operation.ts';
import { isRecurrent } from '../../model/layer-kind.ts';
import type { Model } from '../../model/model.ts';
import type { Page, PagePool } from '../kv/page-pool.ts';
import type { PagesPlan } from '../kv/plan-pages.ts';
import { type ContextCache, rewindTogether } from '../pass/context-cache.ts';
import { VERIFIED_TOKENS } from '../pass/transformer.ts';
import type { WantedRows } from '../pass/wanted-rows.ts';
import { checkRoom } from './create-transformer.ts';
import type { LayerPages, PagedLayers } from './layer-pages.ts';
import { createTokenHistory, type TokenHistory } from './token-history.ts';

/** A text that a model continues, whose keys and values are in pages of a pool that all sequences share. */
export interface Sequence {
  /** Tokens evaluated so far. */
  readonly position: number;
  /** Most tokens of its next pass. */
  readonly room: number;
  /** Pages of its tokens that other sequences use as well. */
  readonly sharedPages: number;
  /** Tokens of others' pages that its first pass found, where they may be lost; default: all with which it began. */
  readonly foundTokens?: number | undefined;
  /** Pages that it must take for this many more tokens. */
  pagesFor(tokens: number): number;
  /**
   * Removes all tokens from `position` on. A page that the next token would be written to, and that others use as well,
   * is copied.
   * @throws RangeError if there is no room for the copy
   */
  rewind(position: number): void;
  /**
   * Keeps a page, by its number; `undefined` if it is kept already, or layers are recurrent. Tokens that follow are written to it nevertheless.
   * @throws RangeError unless it is in memory
   */
  keep(page: number): KeptPage | undefined;
  /** Gives its pages back. It must not be used afterwards. */
  close(): void;
}

/** A page, which keeps its keys and values until it is released. */
export interface KeptPage {
  /** Whether no sequence uses it. */
  readonly isIdle: boolean;
  /** It must not be used afterwards. */
  release(): void;
}

/** Tokens that a sequence adds in a pass, at least one. */
export interface SequenceWork {
  readonly sequence: Sequence;
  readonly tokens: readonly number[];
  readonly logits: WantedRows;
  /**
   * How its tokens are multiplied with weights, see MultiplyOperation: of a pass in which this is given, results don't
   * depend on what else is in it. Work that is multiplied singly comes first. Default: by the pass's number of tokens.
   */
  readonly multiplied?: MultiplyOperation['multiplied'] | undefined;
}

/** A model that evaluates tokens of several sequences in one pass, so that weights are read once for all of them. */
export interface Sequences {
  readonly model: Model;
  /** Tokens that a sequence can have. */
  readonly contextLength: number;
  /** Tokens that a pass can have. */
  readonly mostTokens: number;
  readonly pageTokens: number;
  /** Pages of the pool, and those of them that are free. */
  readonly pages: number;
  readonly freePages: number;
  /** Counts of experts that are read when tokens choose them; `undefined` where none are. */
  readonly expertReads?: ExpertReads | undefined;
  /**
   * @param beginning pages of other sequences with which it begins: its first tokens must be theirs, up to which it is
   *   rewound if they are not those of full pages. Default: it is empty
   */
  open(beginning?: readonly KeptPage[]): Sequence;
  /**
   * One pass. A sequence that is alone in it, and for which the pool is too small, moves its oldest pages to a file.
   * @returns what is wanted, in the order of the work: logits [tokens][vocabulary], or hidden states [tokens][hidden],
   *   in memory that the next call overwrites
   * @throws InputError, before anything is evaluated, if tokens don't fit into the context, or not into the free pages;
   *   RangeError for a sequence that occurs twice or is closed, or more tokens than `mostTokens` or a sequence's `room`
   */
  evaluate(work: readonly SequenceWork[]): Promise<Float32Array>;
}

/** Work of a pass, with a cache for each of the model's stages. */
export interface StagedWork extends Omit<SequenceWork, 'sequence'> {
  readonly caches: readonly ContextCache[];
  readonly position: number;
}

export interface SequencesOptions {
  readonly model: Model;
  readonly contextLength: number;
  readonly mostTokens: number;
  /** The pool of each stage, which is a run of layers on one processor; all have as many pages. */
  readonly stages: readonly LayerPages[];
  readonly plan: Pick<PagesPlan, 'pageTokens' | 'pages'>;
  readonly expertReads?: ExpertReads | undefined;
  readonly run: (work: readonly StagedWork[]) => Float32Array | Promise<Float32Array>;
}

interface Opened {
  readonly layers: readonly PagedLayers[];
  readonly history: TokenHistory;
}

export function createSequences(options: SequencesOptions): Sequences {
  const { model, contextLength, mostTokens, stages, plan, expertReads, run } = options;
  const { pageTokens, pages } = plan;
  const opened = new Map<Sequence, Opened>();
  const kept = new Map<KeptPage, readonly Page[]>();
  /** The first stage's part of the pages that are kept. */
  const keptFirst = new Set<Page>();
  const stateOf = (sequence: Sequence): Opened => {
    const state = opened.get(sequence);
    if (state === undefined) throw new RangeError('a closed sequence');
    return state;
  };
  const free = (): number => Math.min(...stages.map(({ pool }) => pool.free));

  const slicesOf = (page: KeptPage): readonly Page[] => {
    const slices = kept.get(page);
    if (slices === undefined) throw new RangeError('a page that was released');
    return slices;
  };
  /** Sequences that use a page, which all stages have in common. */
  const sequencesOf = (first: Page): number =>
    (stages[0] as LayerPages).pool.usersOf(first) - (keptFirst.has(first) ? 1 : 0);
  const keepPage = (slices: readonly Page[]): KeptPage | undefined => {
    const each = (use: (pool: PagePool, page: Page) => void): void => {
      for (const [stage, { pool }] of stages.entries()) use(pool, slices[stage] as Page);
    };
    const [first] = slices as [Page];
    if (keptFirst.has(first)) return undefined;
    const page: KeptPage = {
      get isIdle() {
        return sequencesOf(first) === 0;
      },
      release() {
        slicesOf(page);
        each((pool, own) => pool.giveBack(own));
        kept.delete(page);
        keptFirst.delete(first);
      },
    };
    each((pool, own) => pool.share(own));
    kept.set(page, slices);
    keptFirst.add(first);
    return page;
  };

  const check = (work: readonly SequenceWork[]): void => {
    if (new Set(work.map(({ sequence }) => sequence)).size < work.length)
      throw new RangeError('a sequence occurs twice in a pass');
    for (const { sequence, tokens } of work) {
      checkRoom(sequence.position, tokens.length, contextLength);
      if (tokens.length > sequence.room)
        throw new RangeError(`${tokens.length} tokens for a sequence with room for ${sequence.room}`);
    }
    const total = work.reduce((sum, { tokens }) => sum + tokens.length, 0);
    if (total > mostTokens) throw new RangeError(`${total} tokens in a pass of at most ${mostTokens}`);
    const needed = work.reduce((sum, { sequence, tokens }) => sum + sequence.pagesFor(tokens.length), 0);
    if (work.length > 1 && needed > free())
      throw new InputError('KV memory', `${needed} more pages are needed, and ${free()} of ${pages} are free`);
  };

  const keepsStates = isRecurrent(model);
  /** Evaluates again what a sequence's layers don't know any more, a few tokens as generation does. */
  const catchUp = async (sequence: Sequence): Promise<void> => {
    const { layers, history } = stateOf(sequence);
    while (history.known < history.position) {
      const tokens = history.missing(Math.min(mostTokens, sequence.room));
      const multiplied = tokens.length <= VERIFIED_TOKENS ? 'singly' : 'together';
      const caches = layers.map(({ cache }) => cache);
      await run([{ caches, position: history.known, tokens, logits: 'none', multiplied }]);
      history.evaluated(tokens);
    }
  };

  return {
    ...{ model, contextLength, mostTokens, pageTokens, pages, expertReads },
    get freePages() {
      return free();
    },
    open(beginning = []) {
      const history = createTokenHistory(beginning.length * pageTokens);
      const state: Opened = { layers: stages.map((stage) => stage.open()), history };
      const shared = beginning.map(slicesOf);
      for (const [stage, layers] of state.layers.entries())
        layers.pages.beginWith(shared.map((slices) => slices[stage] as Page));
      const sequence: Sequence = {
        get position() {
          return history.position;
        },
        get room() {
          return Math.min(...state.layers.map(({ cache }) => cache.room));
        },
        get sharedPages() {
          return [...(state.layers[0] as PagedLayers).pages.memory].filter((page) => sequencesOf(page) > 1).length;
        },
        pagesFor: (tokens) =>
          Math.ceil((history.position + tokens) / pageTokens) - Math.ceil(history.known / pageTokens),
        rewind(to) {
          if (!(Number.isInteger(to) && to >= 0 && to <= history.position))
            throw new RangeError(`rewind to ${to} of ${history.position} tokens`);
          const caches = stateOf(sequence).layers.map(({ cache }) => cache);
          history.rewind(to, to < history.known ? rewindTogether(caches, to) : history.known);
        },
        keep(page) {
          // A sequence that began with it would lack the states after its tokens.
          if (keepsStates) return undefined;
          const slices = stateOf(sequence).layers.map(({ pages: own }) => own.memoryOf(page));
          return keepPage(slices);
        },
        close() {
          for (const layers of state.layers) layers.close();
          opened.delete(sequence);
        },
      };
      opened.set(sequence, state);
      return sequence;
    },
    async evaluate(work) {
      for (const { sequence } of work) await catchUp(sequence);
      check(work);
      const staged = work.map(({ sequence, ...rest }) => {
        const { layers, history } = stateOf(sequence);
        return { ...rest, caches: layers.map(({ cache }) => cache), position: history.known };
      });
      const found = await run(staged);
      for (const { sequence, tokens } of work) stateOf(sequence).history.evaluated(tokens);
      return found;
    },
  };
}
