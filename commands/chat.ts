import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../engine/gguf/transformer-settings.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { randomStream } from '../engine/input/random-stream.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../engine/runtime/load/load-transformer.ts';
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
  openRouting,
  readExperts,
  readRouting,
} from './expert-options.ts';
import { DEFAULT_TOKENS } from './generate-options.ts';
import { writeReadAheadNotice } from './read-ahead-notice.ts';
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

interface Options extends SamplingTexts, DraftTexts, ExpertTexts {
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
  readonly memory?: string;
  readonly routing?: string;
}

/** Tokens of the KV cache unless given or the model was trained for fewer: 0.5 GiB for an 8B. */
const CONTEXT = 4096;

const HELP = 'a line is a message; /new starts over, /exit or Ctrl-D ends, Ctrl-C stops an answer';

/** `hearth chat`: a conversation on this machine. Answers go to stdout, everything else to stderr. */
export function chatCommand(): Command {
  const command = new Command('chat')
    .description(`A conversation with a model in its own chat template: ${HELP}.`)
    .addOption(OPTIONS.modelOrOwn)
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
  return addExpertOptions(command, { replays: true }).action(run);
}

async function run(options: Options): Promise<void> {
  const tokens = readCount('--tokens', options.tokens);
  const sampling = readSampling(options);
  const stream = lookAhead(randomStream(readSeed(options.seed), 'sampler'));
  const sampler = createSampler(sampling, stream);
  const request = readDrafts(options);
  const memory = optional(options.memory, (text) => parseQuantity(text, 'size', '--memory'));
  const experts = readExperts(options, options.memory);
  const record = readRouting(options);
  checkOwnDraft(request, { '--memory': options.memory, ...expertFlags(options) });
  const file = readModel(options.model);
  const gguf = withFile(file, readGguf);
  const tokenizer = loadTokenizer(gguf);
  const shape = modelFromGguf(gguf);
  const trained = transformerSettings(gguf, shape).contextLength;
  const context = optional(options.context, (text) => readCount('--context', text)) ?? Math.min(CONTEXT, trained);
  const kernels = openKernels(readKernels(options));
  try {
    const drafts = openDrafts({
      ...{ request, file, tokenizer, vocabularySize: shape.vocabularySize },
      ...{ kernels: () => kernels, context, sampling, stream },
    });
    if (memory === undefined && experts === undefined) writeReadAheadNotice(file, shape);
    const model = loadTransformer(file, {
      ...{ gguf, kernels, context, kvCache: readKvCache(options.kv) },
      ...{ experts, packedExperts: options.packedExperts, routing: openRouting(record, shape) },
      predicts: request.own,
      memory: memory && memory - (drafts?.bytes ?? 0),
    });
    let last: MeasuredSpeculation | undefined;
    const speculation = (earlier: readonly number[]): MeasuredSpeculation | undefined => {
      last = drafts?.speculation(model, earlier);
      return last;
    };
    const conversation = createConversation({ gguf, tokenizer, model, system: options.system, speculation });
    await converse(conversation, async (text) => {
      const generated = await interruptible((signal) =>
        conversation.say(text, { tokens, sampler, signal, onText: writeText }),
      );
      if (!generated.text.endsWith('\n')) process.stdout.write('\n');
      writeTimings(generated.promptTokens, generated);
      if (last !== undefined) process.stderr.write(`${describeSpeculation(last.figures, generated.tokens.length)}\n`);
    });
    if (model.expertReads !== undefined) process.stderr.write(`${describeReads(model.expertReads)}\n`);
  } finally {
    kernels.close();
  }
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
    process.stderr.write(`${error.message}\n`);
  }
}
