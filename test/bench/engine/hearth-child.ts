import { tmpdir } from 'node:os';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { loadAddon } from '../../../engine/kernels/native/addon.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { createBatchEngine } from '../../../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences, loadTransformer } from '../../../engine/runtime/load/load-transformer.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../../engine/text/sampling/sampler.ts';
import type { Contestant, Limits, Task } from './contestant.ts';
import { serve } from './serve.ts';

const MIB = 2 ** 20;
/**
 * Read in pieces in rotation: by the time a piece is read again, the model and three other pieces have evicted it from
 * the caches.
 */
const PROBE_BYTES = 256 * MIB;
const PIECE_BYTES = 64 * MIB;

const PAGE_TOKENS = 64;
/** Texts are continued to the end, whatever their tokens. */
const TOKENIZER = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };

async function load({ model, threads, context, texts = 1, instructions = 'auto' }: Task): Promise<Contestant> {
  const kernels = openKernels({ implementation: 'native', threads, instructionSet: instructions });
  const transformer = loadTransformer(model, { kernels, context });
  const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));
  const choose = greedy();
  const pages = texts * Math.ceil(context / PAGE_TOKENS);
  const paging = { kernels, context, pages, pageTokens: PAGE_TOKENS, folder: tmpdir() };
  const sequences = texts > 1 ? loadSequences(model, paging) : undefined;
  let logits: Float32Array = new Float32Array(0);
  let limits: (() => Limits) | undefined;
  return {
    description: `Hearth, ${kernels.instructionSet}`,
    async prefill(tokens) {
      transformer.rewind(0);
      logits = transformer.evaluate(tokens);
    },
    async decode(count) {
      for (let i = 0; i < count; i++) logits = transformer.evaluate([choose(logits, [])]);
    },
    ...(sequences !== undefined && {
      async begin(prompts, count) {
        const engine = createBatchEngine({ sequences, tokenizer: TOKENIZER });
        const running = prompts.map((prompt) => engine.submit({ prompt, tokens: count + 1, sampler: greedy() }));
        const pieces = running.map((request) => request[Symbol.asyncIterator]());
        await Promise.all(pieces.map((each) => each.next()));
        return async () => {
          await Promise.all(running.map(({ result }) => result));
          await engine.close();
        };
      },
    }),
    limits() {
      limits ??= limitsBy(kernels.instructionSet, threads);
      return limits();
    },
  };
}

/** Memory and threads for probes are only created on demand, after the model's peak of memory was read. */
function limitsBy(instructionSet: string, threads: number): () => Limits {
  const addon = loadAddon();
  if (typeof addon === 'string') throw new Error(addon);
  const engine = new addon.Engine(instructionSet, threads, false, false);
  const [memory] = engine.vector(PROBE_BYTES / 4);
  let piece = 0;
  return () => {
    piece = (piece + 1) % (PROBE_BYTES / PIECE_BYTES);
    const readBandwidth = engine.readBandwidth(memory, piece * PIECE_BYTES, PIECE_BYTES);
    const [floatPeak, bytePeak] = engine.peaks();
    return { readBandwidth, floatPeak, bytePeak };
  };
}

await serve(load);
