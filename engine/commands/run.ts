import type { Command } from 'commander';
import { withFile } from '../gguf/file-source.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { formatSeconds } from '../input/format.ts';
import { randomStream } from '../input/random-stream.ts';
import type { RingHead } from '../ring/head/head.ts';
import type { RecoveringRing } from '../ring/head/lost-worker.ts';
import { fittedPlan, planRing } from '../ring/head/planning.ts';
import { createRingTexts, type RingModel, ringModel } from '../ring/head/ring-texts.ts';
import { ringTrace } from '../ring/head/trace.ts';
import { clock } from '../ring/wire/clock.ts';
import { allFinite } from '../runtime/finite-logits.ts';
import { noNumbers } from '../runtime/no-numbers.ts';
import { generate } from '../text/generate.ts';
import { loadTokenizer } from '../text/load-tokenizer.ts';
import { promptTokens } from '../text/prompt-tokens.ts';
import { createSampler } from '../text/sampling/sampler.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import type { TokenInterval } from '../trace/trace.ts';
import { describePressure, type MemoryPressure, pressureOf } from './memory-pressure.ts';
import { openRing } from './open-ring.ts';
import { writeOutputFile } from './output-file.ts';
import { createRunCommand, type RunRequest } from './run-options.ts';
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
  const { head, ring, planning, close } = await openRing({ ...request, context, requests: prompts.length, trace, log });
  try {
    if (request.savePlan !== undefined) {
      const plan = fittedPlan(planRing(planning, head.present()), head.weights);
      writeOutputFile(request.savePlan, `${JSON.stringify(plan, null, 2)}\n`);
    }
    await generateAll({ ring, head, request, tokenizer, prompts, context });
  } finally {
    await close();
  }
}

interface Generation {
  readonly ring: RecoveringRing;
  readonly head: RingHead;
  readonly request: RunRequest;
  readonly tokenizer: Tokenizer;
  readonly prompts: readonly (readonly number[])[];
  readonly context: number;
}

/** Generates the texts of all prompts together. */
async function generateAll({ ring, head, request, tokenizer, prompts, context }: Generation): Promise<void> {
  const intervals: TokenInterval[] = [];
  const streamed = prompts.length === 1 && !request.json;
  const ringTexts = createRingTexts(ring, context);
  const texts = await interruptible((signal) =>
    Promise.all(
      prompts.map(async (prompt, index) => {
        return generate({
          model: checkedModel(ringModel(ringTexts), prompt.length, { intervals, file: request.model }),
          tokenizer,
          prompt,
          tokens: request.tokens,
          signal,
          sampler: createSampler(request.sampling, randomStream(request.seed + index, 'sampler')),
          onText: (text) => streamed && writeText(text),
        });
      }),
    ),
  );
  const memory = await memoryOf(head);
  for (const [index, generated] of texts.entries()) {
    const promptTokens = prompts[index]?.length ?? 0;
    if (request.json) writeJson(request.model, promptTokens, generated, { memory });
    else writeText(streamed ? '\n' : `${generated.text}\n`);
    writeTimings(promptTokens, generated);
  }
  for (const one of memory) log(describePressure(one));
  setExitCode(texts);
  if (request.trace !== undefined) {
    const inOrder = intervals.sort((a, b) => a.start - b.start);
    const startedAt = performance.timeOrigin / 1000 + (inOrder[0]?.start ?? 0);
    const devices = await head.collectSpans();
    writeTrace(request.trace, ringTrace(devices, inOrder), startedAt);
    const error = Math.max(...devices.map(({ offsetError }) => offsetError));
    log(`the devices' clocks in the trace agree within ${formatSeconds(error)}`);
  }
}

/** Memory pressure of every device while requests hold their KV caches; none if a device doesn't answer. */
async function memoryOf(head: RingHead): Promise<MemoryPressure[]> {
  try {
    return (await head.heldMemory()).map(pressureOf);
  } catch (error) {
    log(`memory pressure isn't known: ${(error as Error).message}`);
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
  return {
    ...model,
    async evaluate(tokens) {
      const start = clock();
      const logits = await model.evaluate(tokens);
      if (!allFinite(logits)) throw noNumbers(file);
      intervals.push({ phase: tokens.length === promptTokens ? 'prefill' : 'decode', start, end: clock() });
      return logits;
    },
  };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
