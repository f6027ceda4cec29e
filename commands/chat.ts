import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { PASS_TOKENS } from '../engine/batch/request-policy.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { randomStream } from '../engine/input/random-stream.ts';
import { readPartFile } from '../engine/ring/device/part-file.ts';
import { ringModel } from '../engine/ring/head/ring-texts.ts';
import { readCount } from '../engine/terminal/options.ts';
import { type Conversation, createConversation } from '../engine/text/conversation.ts';
import { loadTokenizer } from '../engine/text/load-tokenizer.ts';
import { createSampler } from '../engine/text/sampling/sampler.ts';
import type { MeasuredSpeculation } from '../engine/text/speculation/create-speculation.ts';
import { lookAhead } from '../engine/text/speculation/look-ahead.ts';
import {
  addExpertOptions,
  describeReads,
  type ExpertTexts,
  expertFlags,
  readExperts,
  readRouting,
} from './expert-options.ts';
import { DEFAULT_TOKENS } from './generate-options.ts';
import { kernelsOnDemand } from './kernels-on-demand.ts';
import { type ModelRequest, type OpenedModel, openModel } from './open-model.ts';
import { type OpenRingOptions, openRing } from './open-ring.ts';
import { addPlaceOptions, type Place, type PlaceTexts, readPlace } from './place-options.ts';
import { checkedModel, textsOfRing } from './ring-model.ts';
import {
  OPTIONS,
  optional,
  readKernels,
  readKvCache,
  readModel,
  readSampling,
  readSeed,
  type SamplingTexts,
} from './shared-options.ts';
import {
  checkOwnDraft,
  type DraftTexts,
  describeSpeculation,
  openDrafts,
  readDrafts,
  SPECULATION_OPTIONS,
} from './speculation.ts';
import { interruptible, writeText, writeTimings } from './text-output.ts';

interface Options extends SamplingTexts, DraftTexts, PlaceTexts, ExpertTexts {
  readonly model?: string;
  readonly system?: string;
  readonly tokens: string;
  readonly seed: string;
  readonly kernels: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly context?: string;
  readonly kv: string;
  readonly routing?: string;
}

/** Tokens of the KV cache unless given or the model was trained for fewer: 0.5 GiB for an 8B. */
const CONTEXT = 4096;

const HELP = 'a line is a message; /new starts over, /exit or Ctrl-D ends, Ctrl-C stops an answer';

/** `hearth chat`: a conversation. Answers go to stdout, everything else to stderr. */
export function chatCommand(): Command {
  const command = new Command('chat')
    .description(
      `A conversation with a model in its own chat template: ${HELP}. With --worker or --cluster the model’s layers run on the devices of a ring, and this one is the head.`,
    )
    .addOption(OPTIONS.modelPartOrOwn)
    .option('--system <text>', 'the system message')
    .option('--tokens <n>', 'tokens of an answer, at most', String(4 * DEFAULT_TOKENS))
    .addOption(OPTIONS.temperature)
    .addOption(OPTIONS.topK)
    .addOption(OPTIONS.topP)
    .addOption(OPTIONS.minP)
    .addOption(OPTIONS.repeatPenalty)
    .addOption(OPTIONS.seed)
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast)
    .option('--context <n>', `tokens of the conversation (default: ${CONTEXT}, or fewer if the model was trained so)`)
    .addOption(OPTIONS.kvCache)
    .addOption(OPTIONS.memory)
    .addOption(SPECULATION_OPTIONS.draft)
    .addOption(SPECULATION_OPTIONS.ownDraft)
    .addOption(SPECULATION_OPTIONS.lookup)
    .addOption(SPECULATION_OPTIONS.draftTokens);
  return addPlaceOptions(addExpertOptions(command, { replays: true })).action(run);
}

async function run(options: Options, called: Command): Promise<void> {
  const tokens = readCount('--tokens', options.tokens);
  const sampling = readSampling(options);
  const stream = lookAhead(randomStream(readSeed(options.seed), 'sampler'));
  const sampler = createSampler(sampling, stream);
  const request = readDrafts(options);
  const place = readChatPlace(options, called);
  const kvCache = readKvCache(options.kv);
  checkOwnDraft(request, { '--memory': options.memory, ...expertFlags(options) });
  const kernelOptions = readKernels(options);
  const own = place.ring === undefined ? readOwnMemory(options) : undefined;
  const file = readModel(options.model);
  const gguf = withFile(file, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const whole = place.ring === undefined ? gguf : readPartFile(gguf).whole;
  const shape = modelFromGguf(whole);
  const trained = transformerSettings(whole, shape).contextLength;
  const context = optional(options.context, (text) => readCount('--context', text)) ?? Math.min(CONTEXT, trained);
  const kernels = kernelsOnDemand(kernelOptions);
  try {
    const drafts = openDrafts({
      ...{ request, file, tokenizer, vocabularySize: shape.vocabularySize },
      ...{ kernels: kernels.get, context, sampling, stream },
    });
    const draftBytes = drafts?.bytes ?? 0;
    const { model, verifying, expertReads, close } =
      place.ring === undefined
        ? await openModel({
            ...{ file, gguf, shape, cpu: kernels.get(), gpu: place.gpu, exact: kernelOptions.exact, context, kvCache },
            ...{ ...own, memory: own?.memory && own.memory - draftBytes, predicts: request.own },
            ...{ promptTokens: Math.min(PASS_TOKENS, context), signal: new AbortController().signal },
          })
        : await openInRing({
            ...{ ...place.ring, memory: place.ring.memory - draftBytes, model: file, kvCache, kernels: kernelOptions },
            ...{ context, requests: 1, pageTokens: undefined, trace: false, saveCluster: undefined, log },
          });
    try {
      let last: MeasuredSpeculation | undefined;
      const speculation = (earlier: readonly number[]): MeasuredSpeculation | undefined => {
        last = verifying && drafts?.speculation(verifying, earlier);
        return last;
      };
      const conversation = createConversation({ gguf, tokenizer, model, system: options.system, speculation });
      await converse(conversation, async (text) => {
        const generated = await interruptible((signal) =>
          conversation.say(text, { tokens, sampler, signal, onText: writeText }),
        );
        if (!generated.text.endsWith('\n')) process.stdout.write('\n');
        writeTimings(generated.promptTokens, generated);
        if (last !== undefined) log(describeSpeculation(last.figures, generated.tokens.length));
      });
      if (expertReads !== undefined) log(describeReads(expertReads));
    } finally {
      await close();
    }
  } finally {
    kernels.close();
  }
}

/** @throws InputError as readPlace does */
function readChatPlace(options: Options, called: Command): Place {
  const { memory, routing, draft, ownDraft, lookup } = options;
  const local = { '--routing': routing, ...expertFlags(options), '--own-draft': ownDraft };
  return readPlace(options, called, {
    onCpu: { '--memory': memory, ...local, '--draft': draft, '--lookup': lookup },
    onOneMachine: local,
  });
}

/** How a model that runs on this machine alone is kept in its memory. @throws InputError */
function readOwnMemory(options: Options): Pick<ModelRequest, 'memory' | 'experts' | 'packedExperts' | 'routing'> {
  return {
    memory: optional(options.memory, (text) => parseQuantity(text, 'size', '--memory')),
    experts: readExperts(options, options.memory),
    packedExperts: options.packedExperts,
    routing: readRouting(options),
  };
}

/** The model of a ring, for one text. */
async function openInRing(options: OpenRingOptions): Promise<OpenedModel> {
  const opened = await openRing(options);
  const model = checkedModel(ringModel(textsOfRing(opened, options.context, 1)), options.model);
  return { model, verifying: model, close: opened.close };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Reads messages until the input ends. A message that can't be answered is named, and the conversation goes on. */
async function converse(conversation: Conversation, answer: (text: string) => Promise<void>): Promise<void> {
  const isTerminal = process.stdin.isTTY === true;
  if (isTerminal) process.stderr.write(`${HELP}\n`);
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: isTerminal, prompt: '> ' });
  lines.on('SIGINT', () => lines.close());
  if (isTerminal) lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text === '/exit') break;
    if (text === '/new') conversation.forget();
    else if (text !== '') await answered(answer, text, isTerminal);
    if (isTerminal) lines.prompt();
  }
  lines.close();
}

async function answered(answer: (text: string) => Promise<void>, text: string, goesOn: boolean): Promise<void> {
  try {
    await answer(text);
  } catch (error) {
    if (!goesOn || !(error instanceof InputError)) throw error;
    log(error.message);
  }
}
