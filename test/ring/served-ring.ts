import { randomStream } from '../../engine/input/random-stream.ts';
import type { RingGpu } from '../../engine/ring/device/device-part.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import type { RingLayout } from '../../engine/ring/head/planning.ts';
import { ringSequences } from '../../engine/ring/head/ring-sequences.ts';
import { createRingTexts } from '../../engine/ring/head/ring-texts.ts';
import type { BatchRequest } from '../../engine/runtime/batch/batch-engine.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import type { BatchDraftOptions } from '../../engine/runtime/batch/drafting.ts';
import type { Sequences } from '../../engine/runtime/texts/sequences.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { equalLayout, headHere, SETTINGS, workerHere } from './ring-in-process.ts';

export const LAYERS = 4;
export const CONTEXT = 96;
export const TOKENIZER = { bytesOf: (token: number) => Uint8Array.of(97 + (token % 26)), stops: new Set<number>() };

/** A request for the likeliest tokens. */
export const greedy = (prompt: readonly number[], tokens: number): BatchRequest => ({
  prompt,
  tokens,
  sampler: createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler')),
});

export interface ServedRingOptions {
  readonly drafts?: BatchDraftOptions | undefined;
  /** Texts of full length that have room; default 5. */
  readonly requests?: number;
  /** Default: the context. */
  readonly pageTokens?: number;
  /** The GPU of the head and of every worker. */
  readonly gpu?: RingGpu;
  readonly layout?: (devices: readonly string[]) => RingLayout;
}

/** A ring of a head and two workers, two windows each, whose texts are continued together. */
export async function servedRing(
  path: string,
  { drafts, requests = 5, pageTokens = CONTEXT, gpu, layout }: ServedRingOptions = {},
) {
  const settings = { ...SETTINGS, context: CONTEXT, requests, pageTokens, chunk: 16 };
  const workers = await Promise.all(['a', 'b'].map((name) => workerHere(name, path, { headKeys: undefined, gpu })));
  const members = workers.map(({ member }) => member);
  const { head, log } = headHere(path, members, { settings, gpu });
  await head.gather();
  const ring = recoveringRing(head, layout ?? ((devices) => equalLayout(devices, LAYERS, 2)), (line) => log.push(line));
  const { model } = (workers[0] as (typeof workers)[0]).loaded.part;
  const pages = requests * Math.ceil(CONTEXT / pageTokens);
  const texts = createRingTexts(ring, { contextLength: CONTEXT, pages, pageTokens });
  /** Works of each pass, and its tokens. */
  const passes: number[] = [];
  const tokens: number[] = [];
  /** Passes in which a text has several tokens that may follow each other. */
  const verified: number[] = [];
  const sequences = ringSequences({ model, texts, mostTokens: 48 });
  const counted: Sequences = {
    ...sequences,
    get freePages() {
      return sequences.freePages;
    },
    evaluate(work) {
      passes.push(work.length);
      tokens.push(work.reduce((sum, own) => sum + own.tokens.length, 0));
      verified.push(...work.filter(({ logits }) => logits === 'all').map((own) => own.tokens.length));
      return sequences.evaluate(work);
    },
  };
  const engine = createBatchEngine({
    sequences: counted,
    tokenizer: TOKENIZER,
    promptTokensBesideDecoding: 20,
    drafts,
  });
  const close = async (): Promise<void> => {
    await engine.close();
    await head.close();
    for (const { worker } of workers) await worker.close();
  };
  return { workers, head, log, engine, texts, passes, tokens, verified, close };
}
