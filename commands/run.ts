import type { Command } from 'commander';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { formatSeconds } from '../engine/input/format.ts';
import { randomStream } from '../engine/input/random-stream.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { isRecurrent } from '../engine/model/layer-kind.ts';
import type { Model } from '../engine/model/model.ts';
import { readPartFile } from '../engine/ring/device/part-file.ts';
import { NoNumbersError } from '../engine/ring/device/window-runner.ts';
import type { RingHead } from '../engine/ring/head/head.ts';
import type { DeviceExpertReads } from '../engine/ring/head/inquiries.ts';
import type { RecoveringRing } from '../engine/ring/head/lost-worker.ts';
import { fittedPlan, planRing } from '../engine/ring/head/planning.ts';
import { createRingTexts, type RingModel, ringModel } from '../engine/ring/head/ring-texts.ts';
import { ringTrace } from '../engine/ring/head/trace.ts';
import { clock } from '../engine/ring/wire/clock.ts';
import { damagedTensor, noNumbers } from '../engine/runtime/observed/no-numbers.ts';
import { allFinite } from '../engine/runtime/pass/finite-logits.ts';
import { generate } from '../engine/text/generate.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { promptTokens } from '../engine/text/prompt-tokens.ts';
import { createSampler } from '../engine/text/sampling/sampler.ts';
import { type LookAhead, lookAhead } from '../engine/text/speculation/look-ahead.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import type { TokenInterval } from '../engine/trace/trace.ts';
import { describeReads } from './expert-options.ts';
import { describePressure, type MemoryPressure, pressureOf } from './memory-pressure.ts';
import { openRing } from './open-ring.ts';
import { writeOutputFile } from './output-file.ts';
import { createRunCommand, type RunRequest } from './run-options.ts';
import { type Drafts, describeSpeculation, openDrafts } from './speculation.ts';
import { interruptible, setExitCode, writeJson, writeText, writeTimings, writeTrace } from './text-output.ts';

/**
 * `hearth run`: generates text with a model whose layers run on several devices. Texts go to stdout, everything else to
 * stderr.
 */
export function runCommand(): Command {
  return createRunCommand(run);
}

async function run(request: RunRequest): Promise<void> {
  const gguf = withFile(request.model, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const { chat, system } = request;
  const prompts = await Promise.all(
    request.prompts.map((text) => promptTokens(gguf, tokenizer, { text, chat, system })),
  );
  const context = request.context ?? Math.max(...prompts.map((tokens) => tokens.length)) + request.tokens;
  const trace = request.trace !== undefined;
  let kernels: Kernels | undefined;
  const draftKernels = (): Kernels => {
    kernels ??= openKernels(request.kernels);
    return kernels;
  };
  const { vocabularySize } = modelFromGguf(readPartFile(gguf).whole);
  const texts = prompts.map((prompt, index): TextRequest => {
    const stream = lookAhead(randomStream(request.seed + index, 'sampler'));
    const drafts = openDrafts({
      ...{ request: request.drafts, file: request.model, tokenizer, vocabularySize },
      ...{ kernels: draftKernels, context, sampling: request.sampling, stream },
    });
    return { prompt, stream, drafts };
  });
  const memory = request.memory - texts.reduce((sum, { drafts }) => sum + (drafts?.bytes ?? 0), 0);
  const { head, ring, model, planning, pageTokens, close } = await openRing({
    ...request,
    ...{ context, memory, requests: prompts.length, pageTokens: undefined, trace, log },
  });
  try {
    if (request.savePlan !== undefined) {
      const plan = fittedPlan(planRing(planning, head.present()), head.weights);
      writeOutputFile(request.savePlan, `${JSON.stringify(plan, null, 2)}\n`);
    }
    await generateAll({ ring, head, model, request, tokenizer, texts, context, pageTokens });
  } finally {
    await close();
    kernels?.close();
  }
}

/** A text to continue. */
interface TextRequest {
  readonly prompt: readonly number[];
  /** The random numbers of its sampler. */
  readonly stream: LookAhead;
  readonly drafts: Drafts | undefined;
}

interface Generation {
  readonly ring: RecoveringRing;
  readonly head: RingHead;
  readonly model: Model;
  readonly request: RunRequest;
  readonly tokenizer: Tokenizer;
  readonly texts: readonly TextRequest[];
  readonly context: number;
  readonly pageTokens: number;
}

/** Generates the texts of all prompts together. */
async function generateAll({
  ring,
  head,
  model,
  request,
  tokenizer,
  texts: requests,
  context,
  pageTokens,
}: Generation): Promise<void> {
  const intervals: TokenInterval[] = [];
  const streamed = requests.length === 1 && !request.json;
  const size = { contextLength: context, pages: requests.length * Math.ceil(context / pageTokens), pageTokens };
  const ringTexts = createRingTexts(ring, { ...size, isRecurrent: isRecurrent(model) });
  const texts = await interruptible((signal) =>
    Promise.all(
      requests.map(async ({ prompt, stream, drafts }) => {
        const model = checkedModel(ringModel(ringTexts), prompt.length, { intervals, file: request.model });
        const speculation = drafts?.speculation(model);
        const generated = await generate({
          ...{ model, speculation, tokenizer, prompt, signal },
          tokens: request.tokens,
          sampler: createSampler(request.sampling, stream),
          onText: (text) => streamed && writeText(text),
        });
        return { ...generated, speculation: speculation?.figures };
      }),
    ),
  );
  const memory = await memoryOf(head);
  for (const [index, generated] of texts.entries()) {
    const promptTokens = requests[index]?.prompt.length ?? 0;
    const { speculation } = generated;
    if (request.json) writeJson(request.model, promptTokens, generated, { memory, speculation });
    else writeText(streamed ? '\n' : `${generated.text}\n`);
    writeTimings(promptTokens, generated);
    if (speculation !== undefined) log(describeSpeculation(speculation, generated.tokens.length));
  }
  for (const one of memory) log(describePressure(one));
  for (const { device, ...reads } of await readsOf(head)) log(`${device}: ${describeReads(reads)}`);
  setExitCode(texts);
  if (request.trace !== undefined) {
    const inOrder = intervals.sort((a, b) => a.start - b.start);
    const startedAt = performance.timeOrigin / 1000 + (inOrder[0]?.start ?? 0);
    const devices = await head.collectSpans();
    writeTrace(request.trace, ringTrace(devices, inOrder), { startedAt });
    const error = Math.max(...devices.map(({ offsetError }) => offsetError));
    log(`the devices’ clocks in the trace agree within ${formatSeconds(error)}`);
  }
}

/** Memory pressure of every device while requests hold their KV caches; none if a device doesn't answer. */
async function memoryOf(head: RingHead): Promise<MemoryPressure[]> {
  try {
    return (await head.heldMemory()).map(pressureOf);
  } catch (error) {
    log(`memory pressure isn’t known: ${(error as Error).message}`);
    return [];
  }
}

/** Experts that devices which cache them have needed and read; none if a device doesn't answer. */
async function readsOf(head: RingHead): Promise<DeviceExpertReads[]> {
  try {
    return await head.expertReads();
  } catch (error) {
    log(`reads of experts aren’t known: ${(error as Error).message}`);
    return [];
  }
}

/** Wraps the model to record when each token was computed. */
interface Checks {
  readonly intervals: TokenInterval[];
  /** The head's file, for messages. */
  readonly file: string;
}

/** The model, with its times recorded, whose logits must be numbers. */
function checkedModel(model: RingModel, promptTokens: number, { intervals, file }: Checks): RingModel {
  const checked = async (logits: Promise<Float32Array>, tokens: readonly number[]): Promise<Float32Array> => {
    const start = clock();
    const found = await logits.catch((error: Error) => {
      // The head's own file has the same weights, and names the tensor.
      throw (error.cause instanceof NoNumbersError ? damagedTensor(file) : undefined) ?? error;
    });
    if (!allFinite(found)) throw noNumbers(file);
    intervals.push({ phase: tokens.length === promptTokens ? 'prefill' : 'decode', start, end: clock() });
    return found;
  };
  return {
    ...model,
    get position() {
      return model.position;
    },
    evaluate: (tokens) => checked(model.evaluate(tokens), tokens),
    verify: (tokens) => checked(model.verify(tokens), tokens),
  };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
