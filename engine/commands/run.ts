import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { withFile } from '../gguf/file-source.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { InputError } from '../input/input-error.ts';
import { randomStream } from '../input/random-stream.ts';
import { openKernels } from '../kernels/open-kernels.ts';
import { describeWeights, readsWeights } from '../ring/device/device-weights.ts';
import { loadPart } from '../ring/device/loaded-part.ts';
import { type RingHead, startHead } from '../ring/head/head.ts';
import { type RecoveringRing, recoveringRing, ringModel } from '../ring/head/lost-worker.ts';
import { slowLinks } from '../ring/head/measured-links.ts';
import { fittedPlan, layoutOf, planRing } from '../ring/head/planning.ts';
import { MOST_CHUNK_TOKENS } from '../ring/head/prompt-chunks.ts';
import { ringTrace } from '../ring/head/trace.ts';
import { clock } from '../ring/wire/clock.ts';
import { formatSeconds, threeDigits } from '../terminal/format.ts';
import { type Generated, generate } from '../text/generate.ts';
import { loadTokenizer } from '../text/load-tokenizer.ts';
import { createSampler } from '../text/sampling/sampler.ts';
import type { Tokenizer } from '../text/tokenizer.ts';
import { perfettoTrace } from '../trace/perfetto.ts';
import type { TokenInterval } from '../trace/trace.ts';
import { deviceProfile } from './device-profile.ts';
import { harmless } from './generate.ts';
import { readRing, ringPlanning } from './ring-planning.ts';
import { createRunCommand, type RunRequest } from './run-options.ts';

/** A shell's exit code for what Ctrl-C ended: 128 + SIGINT. */
const INTERRUPTED = 130;

/** `hearth run`: text from a model whose layers run on several devices. Texts go to stdout, all else to stderr. */
export function runCommand(): Command {
  return createRunCommand(run);
}

async function run(request: RunRequest): Promise<void> {
  const file = readRing(request);
  const tokenizer = loadTokenizer(withFile(request.model, readGguf));
  const prompts = request.prompts.map((text) => tokenizer.encode(text, { addSpecial: true, parseSpecial: true }));
  if (prompts.some((tokens) => tokens.length === 0))
    throw new InputError('--prompt', 'is empty; this model needs at least one token');
  const context = request.context ?? Math.max(...prompts.map((tokens) => tokens.length)) + request.tokens;
  const kernels = openKernels(request.kernels);
  const loaded = loadPart(request.model, kernels, MOST_CHUNK_TOKENS);
  if (!loaded.held.outer) throw new InputError(request.model, 'has no embedding and output; the head needs them');
  const { model } = loaded.part;
  const profile = deviceProfile({ file: request.profile, model: request.model, threads: kernels.threads, log });
  const { kvCache, activations, chunk, keys } = request;
  const head = startHead({
    name: file.head,
    loaded,
    keys,
    members: file.members,
    settings: { context, requests: prompts.length, kvCache, activations, chunk, trace: request.trace !== undefined },
    memory: request.memory,
    linkDelay: request.linkDelay,
    log,
  });
  try {
    await head.gather();
    const planning = await ringPlanning({ request, file, head, model, context, profile, log });
    const ring = recoveringRing(head, (present) => layoutOf(planRing(planning, present), planning), log);
    await ring.ready();
    for (const [device, weights] of head.weights)
      if (readsWeights(weights)) log(`${device}: ${describeWeights(weights)}`);
    if (request.savePlan !== undefined) {
      const plan = fittedPlan(planRing(planning, head.present()), head.weights);
      writeFileSync(request.savePlan, `${JSON.stringify(plan, null, 2)}\n`);
    }
    if (file.cluster !== undefined) {
      const tokenBytes = (activations === 'F32' ? 4 : 2) * model.hiddenSize;
      for (const line of slowLinks(await head.measure(), file.cluster, tokenBytes)) log(line);
    }
    await generateAll({ ring, head, request, tokenizer, prompts, context });
  } finally {
    await head.close();
    kernels.close();
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

async function generateAll(generation: Generation): Promise<void> {
  const { ring, head, request, tokenizer, prompts, context } = generation;
  const interrupt = new AbortController();
  const onInterrupt = (): void => interrupt.abort();
  process.once('SIGINT', onInterrupt); // once: a second Ctrl-C ends the process at once
  const tokens: TokenInterval[] = [];
  const streamed = prompts.length === 1 && !request.json;
  try {
    const all = await Promise.all(
      prompts.map(async (prompt, index) => {
        const model = ringModel(ring, context);
        const timed = {
          ...model,
          async evaluate(more: readonly number[]) {
            const start = clock();
            const logits = await model.evaluate(more);
            tokens.push({ phase: more.length === prompt.length ? 'prefill' : 'decode', start, end: clock() });
            return logits;
          },
        };
        const generated = await generate({
          model: timed,
          tokenizer,
          prompt,
          tokens: request.tokens,
          signal: interrupt.signal,
          sampler: createSampler(request.sampling, randomStream(request.seed + index, 'sampler')),
          onText: (text) => streamed && process.stdout.write(shown(text)),
        });
        model.close();
        return generated;
      }),
    );
    all.forEach((generated, index) => {
      report(generated, prompts[index]?.length ?? 0, streamed, request);
    });
    if (all.some(({ reason }) => reason === 'interrupt')) process.exitCode = INTERRUPTED;
    if (request.trace !== undefined) {
      const inOrder = tokens.sort((a, b) => a.start - b.start);
      const trace = perfettoTrace(ringTrace(await head.collectSpans(), inOrder));
      const startedAt = performance.timeOrigin / 1000 + (inOrder[0]?.start ?? 0);
      writeFileSync(request.trace, JSON.stringify({ ...trace, otherData: { startedAt } }));
    }
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

function report(generated: Generated, promptTokens: number, streamed: boolean, { model, json }: RunRequest): void {
  const { text, tokens, reason, firstTokenSeconds, laterSeconds } = generated;
  const tokensPerSecond = laterSeconds > 0 ? (tokens.length - 1) / laterSeconds : undefined;
  if (json) {
    const times = { firstTokenSeconds: firstTokenSeconds ?? null, tokensPerSecond: tokensPerSecond ?? null };
    process.stdout.write(`${JSON.stringify({ model, text, tokens, reason, promptTokens, ...times })}\n`);
  } else process.stdout.write(`${streamed ? '' : shown(text)}\n`);
  const parts = [
    `${promptTokens} prompt tokens`,
    ...(firstTokenSeconds === undefined ? [] : [`TTFT ${formatSeconds(firstTokenSeconds)}`]),
    `${tokens.length} tokens`,
    ...(tokensPerSecond === undefined ? [] : [`${threeDigits(tokensPerSecond)} tokens/s`]),
    ...(reason === 'interrupt' ? ['interrupted'] : []),
  ];
  log(parts.join(', '));
}

function shown(text: string): string {
  return process.stdout.isTTY === true ? harmless(text) : text;
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
