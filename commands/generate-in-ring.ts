import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { formatSeconds } from '../engine/input/format.ts';
import { randomStream } from '../engine/input/random-stream.ts';
import { readPartFile } from '../engine/ring/device/part-file.ts';
import type { RingHead } from '../engine/ring/head/head.ts';
import type { DeviceExpertReads } from '../engine/ring/head/inquiries.ts';
import { fittedPlan, planRing } from '../engine/ring/head/planning.ts';
import { type RingTexts, ringModel } from '../engine/ring/head/ring-texts.ts';
import { ringTrace } from '../engine/ring/head/trace.ts';
import { generate } from '../engine/text/generate.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { promptTokens } from '../engine/text/prompt-tokens.ts';
import { createSampler } from '../engine/text/sampling/sampler.ts';
import { type LookAhead, lookAhead } from '../engine/text/speculation/look-ahead.ts';
import type { Tokenizer } from '../engine/text/tokenizer.ts';
import type { TokenInterval } from '../engine/trace/trace.ts';
import { describeReads } from './expert-options.ts';
import { type GenerateRequest, roomFor } from './generate-options.ts';
import { kernelsOnDemand } from './kernels-on-demand.ts';
import { describePressure, type MemoryPressure, pressureOf } from './memory-pressure.ts';
import { openRing } from './open-ring.ts';
import { writeOutputFile } from './output-file.ts';
import { checkedModel, textsOfRing } from './ring-model.ts';
import type { RingRequest } from './ring-request.ts';
import { type Drafts, describeSpeculation, openDrafts } from './speculation.ts';
import { interruptible, setExitCode, writeJson, writeText, writeTimings, writeTrace } from './text-output.ts';

/**
 * Generates texts with a model whose layers run on several devices. Texts go to stdout, everything else to stderr.
 * @throws InputError and RingError as openRing does
 */
export async function generateInRing(request: GenerateRequest, asked: RingRequest): Promise<void> {
  const { model: file, chat, system, kvCache, saveCluster, savePlan } = request;
  const gguf = withFile(file, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const prompts = await Promise.all(
    request.prompts.map((text) => promptTokens(gguf, tokenizer, { text, chat, system })),
  );
  const { whole } = readPartFile(gguf);
  const shape = modelFromGguf(whole);
  const longest = Math.max(...prompts.map((tokens) => tokens.length));
  const { tokens, context } = roomFor(longest, request, transformerSettings(whole, shape).contextLength);
  const trace = request.trace !== undefined;
  const kernels = kernelsOnDemand(request.kernels);
  const { vocabularySize } = shape;
  const texts = prompts.map((prompt, index): TextRequest => {
    const stream = lookAhead(randomStream(request.seed + index, 'sampler'));
    const drafts = openDrafts({
      ...{ request: request.drafts, file, tokenizer, vocabularySize },
      ...{ kernels: kernels.get, context, sampling: request.sampling, stream },
    });
    return { prompt, stream, drafts };
  });
  const memory = asked.memory - texts.reduce((sum, { drafts }) => sum + (drafts?.bytes ?? 0), 0);
  const { head, ring, model, planning, pageTokens, close } = await openRing({
    ...{ ...asked, model: file, kvCache, kernels: request.kernels, saveCluster, context, memory },
    ...{ requests: prompts.length, pageTokens: undefined, trace, log },
  });
  try {
    if (savePlan !== undefined) {
      const plan = fittedPlan(planRing(planning, head.present()), head.weights);
      writeOutputFile(savePlan, `${JSON.stringify(plan, null, 2)}\n`);
    }
    const ringTexts = textsOfRing({ ring, model, pageTokens }, context, prompts.length);
    await generateAll({ ringTexts, head, request, tokenizer, texts, tokens });
  } finally {
    await close();
    kernels.close();
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
  readonly ringTexts: RingTexts;
  readonly head: RingHead;
  readonly request: GenerateRequest;
  readonly tokenizer: Tokenizer;
  readonly texts: readonly TextRequest[];
  /** The most of each text. */
  readonly tokens: number;
}

/** Generates the texts of all prompts together. */
async function generateAll({
  ringTexts,
  head,
  request,
  tokenizer,
  texts: requests,
  tokens,
}: Generation): Promise<void> {
  const intervals: TokenInterval[] = [];
  const streamed = requests.length === 1 && !request.json;
  const texts = await interruptible((signal) =>
    Promise.all(
      requests.map(async ({ prompt, stream, drafts }) => {
        const model = checkedModel(ringModel(ringTexts), request.model, (interval) => intervals.push(interval));
        const speculation = drafts?.speculation(model);
        const generated = await generate({
          ...{ model, speculation, tokenizer, prompt, signal, tokens, stops: request.stops },
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

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
