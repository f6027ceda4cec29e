import type { Command } from 'commander';
import type { ExpertReads } from '../engine/experts/expert-reads.ts';
import { routingRecord } from '../engine/experts/write-routing.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import type { Gguf } from '../engine/gguf/gguf.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { InputError } from '../engine/input/input-error.ts';
import { randomStream } from '../engine/input/random-stream.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import type { Model } from '../engine/model/model.ts';
import { loadTransformer } from '../engine/runtime/load/load-transformer.ts';
import { createChoiceRecorder } from '../engine/runtime/load/record-routing.ts';
import { observedRoutes } from '../engine/runtime/observed/observed-routes.ts';
import type { PartTime } from '../engine/runtime/pass/transformer.ts';
import { recordTokens } from '../engine/runtime/texts/record-tokens.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import {
  type Generated,
  generate,
  type LanguageModel,
  PROMPT_PART,
  type VerifyingModel,
} from '../engine/text/generate.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { promptTokens } from '../engine/text/prompt-tokens.ts';
import { createSampler } from '../engine/text/sampling/sampler.ts';
import type { SpeculationFigures } from '../engine/text/speculation/create-speculation.ts';
import { lookAhead } from '../engine/text/speculation/look-ahead.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import { createRunRecorder } from '../engine/trace/run-recorder.ts';
import { describeReads, openRouting } from './expert-options.ts';
import { createGenerateCommand, DEFAULT_TOKENS, type GenerateRequest } from './generate-options.ts';
import { openSplit } from './open-split.ts';
import { writeReadAheadNotice } from './read-ahead-notice.ts';
import { describeSpeculation, openDrafts } from './speculation.ts';
import { interruptible, setExitCode, writeJson, writeText, writeTimings, writeTrace } from './text-output.ts';

/** `hearth generate`: text from a model. The text goes to stdout, a line of timings to stderr. */
export function generateCommand(): Command {
  return createGenerateCommand(run);
}

async function run(request: GenerateRequest): Promise<void> {
  const { chat, system } = request;
  const gguf = withFile(request.model, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const prompt = await promptTokens(gguf, tokenizer, { text: request.prompt, chat, system });
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
  const { tokens, context } = room(prompt.length, request, transformerSettings(gguf, shape).contextLength);
  const progress = promptProgress(prompt.length, shape.layers);
  const stream = lookAhead(randomStream(request.seed, 'sampler'));
  const drafts = openDrafts({
    ...{ request: request.drafts, file: request.model, tokenizer, vocabularySize: shape.vocabularySize },
    ...{ kernels: () => kernels, context, sampling: request.sampling, stream },
  });
  const memory = request.memory && request.memory - (drafts?.bytes ?? 0);
  const opened = await openModel(kernels, {
    gguf,
    request,
    memory,
    shape,
    context,
    prompt,
    signal,
    onPart: progress?.onPart,
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
    opened.close();
  }
}

interface OpenedModel {
  readonly model: LanguageModel;
  /** The same if it verifies several tokens in a pass. */
  readonly verifying?: VerifyingModel;
  readonly expertReads?: ExpertReads | undefined;
  /** Writes the trace if one is wanted, and closes what was opened. */
  close(): void;
}

interface ModelRequest extends Pick<Generation, 'gguf' | 'request' | 'prompt' | 'signal'> {
  readonly shape: Model;
  /** Bytes that the process may take without its drafts; `undefined`: not limited. */
  readonly memory: number | undefined;
  readonly context: number;
  readonly onPart: ((part: PartTime) => void) | undefined;
}

/** The model on the processors that were asked for. */
async function openModel(kernels: Kernels, parts: ModelRequest): Promise<OpenedModel> {
  const { gguf, request, shape, context, prompt, memory, signal, onPart } = parts;
  const { model: path, kvCache, gpuLayers, cpuExperts, device, gpuPaging: paging, profile } = request;
  if (gpuLayers !== 0) {
    const { exact } = request.kernels;
    const split = await openSplit(
      {
        ...{ cpu: kernels, gpuLayers, cpuExperts, device, exact, model: shape, file: path, context },
        ...{ profile, signal, paging, promptTokens: prompt.length, kvFormat: kvCache },
      },
      ({ on }, plan, onLayer) => on(plan, onLayer),
    );
    if (split !== undefined) return { model: split.result, close: split.close };
  }
  const begin = performance.now() / 1000;
  const recorder = request.trace === undefined ? undefined : createRunRecorder('this machine', begin);
  const routing = openRouting(request.routing, shape);
  const layers = shape.kinds.filter(({ feedForward }) => feedForward?.kind === 'experts').length;
  // A replayed routing is on record already.
  const choices =
    recorder === undefined || layers === 0 || routing !== undefined ? undefined : createChoiceRecorder(layers);
  if (memory === undefined && request.experts === undefined) writeReadAheadNotice(path, shape);
  const loaded = loadTransformer(path, {
    gguf,
    kernels: choices === undefined ? kernels : observedRoutes(kernels, choices.observe),
    context,
    kvCache,
    memory,
    experts: request.experts,
    packedExperts: request.packedExperts,
    predicts: request.drafts.own,
    routing,
    paging: request.paging,
    recorder,
    ...(onPart === undefined ? {} : { onPart }),
  });
  const model = recorder === undefined ? loaded : recordTokens(loaded, prompt.length, recorder);
  const close = () => {
    if (recorder === undefined || request.trace === undefined) return;
    const chosen = choices?.routing();
    const record = chosen === undefined ? undefined : routingRecord(shape.name, chosen);
    writeTrace(request.trace, recorder.trace(), { routing: record });
  };
  return { model, verifying: model, expertReads: loaded.expertReads, close };
}

/**
 * The number of tokens to generate, as requested or as fits into the context, and the context for prompt and tokens.
 * @param trained the context length that the model was trained for
 */
function room(prompt: number, { tokens, context }: GenerateRequest, trained: number) {
  const most = context ?? trained;
  const wanted = tokens ?? Math.max(1, Math.min(DEFAULT_TOKENS, most - prompt));
  return { tokens: wanted, context: context ?? Math.min(trained, prompt + wanted) };
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
