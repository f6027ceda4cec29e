import { randomStream } from '../../../engine/input/random-stream.ts';
import { loadAddon } from '../../../engine/kernels/native/addon.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../../engine/runtime/load-transformer.ts';
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

async function load({ model, threads, context, instructions = 'auto' }: Task): Promise<Contestant> {
  const kernels = openKernels({ implementation: 'native', threads, instructionSet: instructions });
  const transformer = loadTransformer(model, { kernels, context });
  const choose = createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));
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
