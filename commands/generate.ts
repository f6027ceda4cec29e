import type { Command } from 'commander';
import type { ExpertReads } from '../engine/experts/expert-reads.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import type { Gguf } from '../engine/gguf/gguf.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { InputError } from '../engine/input/input-error.ts';
import { randomStream } from '../engine/input/random-stream.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import type { PartTime } from '../engine/runtime/pass/transformer.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { type Generated, generate, PROMPT_PART } from '../engine/text/generate.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { promptTokens } from '../engine/text/prompt-tokens.ts';
import { createSampler } from '../engine/text/sampling/sampler.ts';
import type { SpeculationFigures } from '../engine/text/speculation/create-speculation.ts';
import { lookAhead } from '../engine/text/speculation/look-ahead.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import { describeReads } from './expert-options.ts';
import { generateInRing } from './generate-in-ring.ts';
import { createGenerateCommand, type GenerateRequest, roomFor } from './generate-options.ts';
import { openModel } from './open-model.ts';
import { describeSpeculation, openDrafts } from './speculation.ts';
import { interruptible, setExitCode, writeJson, writeText, writeTimings } from './text-output.ts';

/**
 * `hearth generate`, and `hearth run`, which is the same in a ring: text from a model. The text goes to stdout, a line of
 * timings to stderr.
 */
export function generateCommand(name: 'generate' | 'run' = 'generate'): Command {
  return createGenerateCommand(name, async (request) => {
    const { ring } = request.place;
    await (ring === undefined ? generateHere(request) : generateInRing(request, ring));
  });
}

async function generateHere(request: GenerateRequest): Promise<void> {
  const { chat, system } = request;
  const gguf = withFile(request.model, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const prompt = await promptTokens(gguf, tokenizer, { text: request.prompts[0] as string, chat, system });
  const kernels = openKernels(request.kernels);
  try {
    const { generated, speculation, expertReads } = await interruptible((signal) =>
      generateWith(kernels, { gguf, tokenizer, prompt, request, signal }),
    );
    if (request.json) {
      const more = { ...(speculation && { speculation }), ...(expertReads && { expertReads }) };
      writeJson(request.model, prompt.length, generated, more);
    } else if (!generated.text.endsWith('\n')) process.stdout.write('\n');
    writeTimings(prompt.length, generated);
    if (expertReads !== undefined) process.stderr.write(`${describeReads(expertReads)}\n`);
    if (speculation !== undefined)
      process.stderr.write(`${describeSpeculation(speculation, generated.tokens.length)}\n`);
    setExitCode([generated]);
  } finally {
    kernels.close();
  }
}

interface Generation {
  readonly gguf: Gguf;
  readonly tokenizer: Tokenizer;
  readonly prompt: readonly number[];
  readonly request: GenerateRequest;
  readonly signal: AbortSignal;
}

interface Outcome {
  readonly generated: Generated;
  /** `undefined`: nothing was to be drafted. */
  readonly speculation: SpeculationFigures | undefined;
  readonly expertReads: ExpertReads | undefined;
}

async function generateWith(kernels: Kernels, generation: Generation): Promise<Outcome> {
  const { gguf, tokenizer, prompt, request, signal } = generation;
  const shape = modelFromGguf(gguf);
  if (tokenizer.size > shape.vocabularySize) {
    const sizes = `${tokenizer.size} tokens, but the model has ${shape.vocabularySize} rows of embeddings`;
    throw new InputError(request.model, `the vocabulary has ${sizes}; the file is malformed`);
  }
  const { tokens, context } = roomFor(prompt.length, request, transformerSettings(gguf, shape).contextLength);
  const progress = promptProgress(prompt.length, shape.layers);
  const stream = lookAhead(randomStream(request.seed, 'sampler'));
  const drafts = openDrafts({
    ...{ request: request.drafts, file: request.model, tokenizer, vocabularySize: shape.vocabularySize },
    ...{ kernels: () => kernels, context, sampling: request.sampling, stream },
  });
  const memory = request.memory && request.memory - (drafts?.bytes ?? 0);
  const { model: file, kvCache, experts, packedExperts, routing, paging, gpuPaging, trace } = request;
  const opened = await openModel({
    ...{ file, gguf, shape, cpu: kernels, gpu: request.place.gpu, exact: request.kernels.exact, context, kvCache },
    ...{ promptTokens: prompt.length, signal, memory, experts, packedExperts, routing, predicts: request.drafts.own },
    ...{ paging, gpuPaging, trace, onPart: progress?.onPart },
  });
  try {
    const speculation = opened.verifying && drafts?.speculation(opened.verifying);
    const generated = await generate({
      model: opened.model,
      speculation,
      tokenizer,
      prompt,
      tokens,
      signal,
      stops: request.stops,
      sampler: createSampler(request.sampling, stream),
      onPrompt(done) {
        if (done === prompt.length) progress?.stop();
      },
      onText(text) {
        if (!request.json) writeText(text);
      },
    });
    return { generated, speculation: speculation?.figures, expertReads: opened.expertReads };
  } finally {
    progress?.stop();
    await opened.close();
  }
}

/** A progress bar while the prompt is evaluated, which first reads the weights from disk; `undefined` without a terminal. */
function promptProgress(tokens: number, layers: number) {
  if (process.stderr.isTTY !== true) return undefined;
  const passParts = layers + 1; // the layers and the embedding
  const progress = createProgress(Math.ceil(tokens / PROMPT_PART) * passParts);
  let stopped = false;
  return {
    onPart({ name }: PartTime): void {
      if (!stopped && name !== 'output') progress.step('prompt');
    },
    stop(): void {
      if (!stopped) progress.stop();
      stopped = true;
    },
  };
}
