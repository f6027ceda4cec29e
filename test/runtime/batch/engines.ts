import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import type { BatchRequest, GeneratedPiece } from '../../../engine/runtime/batch/batch-engine.ts';
import { type BatchEngineOptions, createBatchEngine } from '../../../engine/runtime/batch/create-batch-engine.ts';
import type { BatchDraftOptions } from '../../../engine/runtime/batch/drafting.ts';
import { loadSequences } from '../../../engine/runtime/load/load-transformer.ts';
import type { Sequences } from '../../../engine/runtime/texts/sequences.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../../engine/text/sampling/sampler.ts';
import { madeFile } from '../made-file.ts';
import { prompt, REQUESTS } from './eight-requests.ts';

export const CONTEXT = 96;

/** A token is a letter; none ends a text. */
export const TOKENIZER = { bytesOf: (token: number) => Uint8Array.of(97 + (token % 26)), stops: new Set<number>() };
export const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));

interface Setting extends Partial<BatchEngineOptions> {
  /** Default: they are loaded. */
  readonly sequences?: Sequences;
  readonly path?: string;
  readonly kernels?: Kernels;
  readonly pages: number;
  readonly pageTokens?: number;
  readonly edit?: (sequences: Sequences) => Sequences;
}

export const ask = (seed: number, length: number, tokens: number): BatchRequest => ({
  ...{ prompt: prompt(seed, length), tokens },
  sampler: greedy(),
  topLogprobs: 0,
});

export async function piecesOf(pieces: AsyncIterable<GeneratedPiece>): Promise<GeneratedPiece[]> {
  const all: GeneratedPiece[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** For a GPU in software. */
export const FEWER: readonly (readonly [seed: number, length: number, tokens: number])[] = [
  [1, 20, 8],
  [2, 9, 14],
  [5, 30, 4],
  [8, 12, 10],
];

export type Loaded = Pick<Setting, 'path' | 'kernels' | 'sequences'>;

/** Batch engines of a file's tests, on a tiny made model and the reference kernels unless they say otherwise. */
export function batchEngines() {
  const reference = openKernels({ implementation: 'reference' });
  let [folder, tiny] = ['', ''];

  function engineOf({
    path = tiny,
    kernels = reference,
    pages,
    pageTokens = 4,
    edit = (same) => same,
    sequences: opened,
    ...more
  }: Setting) {
    const size = { context: CONTEXT, kvCache: 'F32', pages, pageTokens } as const;
    const sequences = edit(opened ?? loadSequences(path, { kernels, ...size, folder, warn: () => {} }));
    return { sequences, engine: createBatchEngine({ sequences, tokenizer: TOKENIZER, ...more }) };
  }

  /** Every request alone, then all of them together, arriving one after another in chunks, with too few pages. */
  async function aloneAndTogether(
    load: (pages: number) => Loaded | Promise<Loaded>,
    { drafts, requests = REQUESTS }: { readonly drafts?: BatchDraftOptions; readonly requests?: typeof FEWER } = {},
  ): Promise<void> {
    const lone = engineOf({ ...(await load(24)), pages: 24 });
    const expected: GeneratedPiece[][] = [];
    for (const [seed, length, tokens] of requests) {
      expected.push(await piecesOf(lone.engine.submit(ask(seed, length, tokens))));
      // Nothing is shared with the next one.
      await lone.engine.close();
      lone.engine = createBatchEngine({ sequences: lone.sequences, tokenizer: TOKENIZER });
    }
    let passes = 0;
    const starts = new Set<object>();
    const { sequences, engine } = engineOf({
      ...{ ...(await load(17)), pages: 17, promptTokensBesideDecoding: 7, drafts },
      edit: (own) => ({
        ...own,
        get freePages() {
          return own.freePages;
        },
        async evaluate(work) {
          passes += 1;
          for (const { sequence } of work) starts.add(sequence);
          return await own.evaluate(work);
        },
      }),
    });
    const running: Promise<GeneratedPiece[]>[] = [];
    for (const [index, [seed, length, tokens]] of requests.entries()) {
      running.push(piecesOf(engine.submit(ask(seed, length, tokens))));
      const until = passes + (index % 3);
      while (passes < until && engine.load.running + engine.load.waiting > 0) await setTimeout(1);
    }
    const found = await Promise.all(running);
    assert.equal(found, expected);
    assert.ok(starts.size > requests.length, 'no request was preempted');
    await engine.close();
    assert.is(sequences.freePages, 17);
  }

  return {
    reference,
    engineOf,
    aloneAndTogether,
    /** Folder for files of the tests, and the tiny model in it; both exist between `open` and `close`. */
    get folder() {
      return folder;
    },
    get tiny() {
      return tiny;
    },
    async open(): Promise<void> {
      folder = mkdtempSync(join(tmpdir(), 'hearth-'));
      tiny = await madeFile({ folder, name: 'tiny' });
    },
    close(): void {
      reference.close();
      rmSync(folder, { recursive: true });
    },
  };
}
