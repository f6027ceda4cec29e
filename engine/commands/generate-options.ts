import { tmpdir } from 'node:os';
import { Command } from 'commander';
import { HELM_PAGING } from '../cost/kv-pages.ts';
import { InputError } from '../input/input-error.ts';
import { parseQuantity } from '../input/quantity.ts';
import type { KernelOptions } from '../kernels/open-kernels.ts';
import type { KvPaging } from '../runtime/load-transformer.ts';
import { readChoice, readCount, readNumber } from '../terminal/options.ts';
import { SAMPLER_DEFAULTS, type SamplerOptions } from '../text/sampling/sampler.ts';

/** What `hearth generate` was asked for. */
export interface GenerateRequest {
  readonly model: string;
  readonly prompt: string;
  readonly chat: boolean;
  readonly system: string | undefined;
  /** Undefined: DEFAULT_TOKENS, or fewer where the context has no room for them. */
  readonly tokens: number | undefined;
  readonly sampling: SamplerOptions;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly kernels: KernelOptions;
  /** Undefined: as much as is needed. */
  readonly context: number | undefined;
  readonly kvCache: 'F16' | 'F32';
  /** Bytes that the process may take; undefined: as many as the system gives. */
  readonly memory: number | undefined;
  /** Keys and values in pages; undefined: all in memory. */
  readonly paging: KvPaging | undefined;
  /** Where the run's trace goes; undefined: none is written. */
  readonly trace: string | undefined;
  readonly json: boolean;
}

export const DEFAULT_TOKENS = 128;

const PAGE_TOKENS = HELM_PAGING.pageTokens;

/** As commander hands them over. */
interface Options {
  readonly model: string;
  readonly prompt: string;
  readonly chat?: true;
  readonly system?: string;
  readonly tokens?: string;
  readonly temperature: string;
  readonly topK: string;
  readonly topP: string;
  readonly minP: string;
  readonly repeatPenalty: string;
  readonly seed: string;
  readonly stop: readonly string[];
  readonly kernels: string;
  readonly threads?: string;
  readonly context?: string;
  readonly kv: string;
  readonly memory?: string;
  readonly kvMemory?: string;
  readonly kvPages?: string;
  readonly kvFolder?: string;
  readonly trace?: string;
  readonly json?: true;
}

export function createGenerateCommand(run: (request: GenerateRequest) => Promise<void>): Command {
  const { temperature, topK, topP, minP, repeatPenalty } = SAMPLER_DEFAULTS;
  return new Command('generate')
    .description('Continues a text, or answers as the model was trained to; writes the text as it comes.')
    .requiredOption('--model <file>', 'a GGUF file')
    .requiredOption('--prompt <text>', 'what to continue or, with --chat, to answer')
    .option('--chat', "write the prompt as a user's message, by the model's chat template")
    .option('--system <text>', 'with --chat: the message of the system before it')
    .option('--tokens <n>', `the most to generate (default: ${DEFAULT_TOKENS}, or what the context has room for)`)
    .option('--temperature <x>', '0: always the most likely token', String(temperature))
    .option('--top-k <n>', 'draw from the n most likely tokens; 0: from all', String(topK))
    .option('--top-p <x>', 'draw from the fewest tokens with this probability together; 1: from all', String(topP))
    .option('--min-p <x>', "draw from tokens with at least this share of the most likely one's", String(minP))
    .option('--repeat-penalty <x>', 'divides the logits of the last 64 tokens; 1: none', String(repeatPenalty))
    .option('--seed <n>', 'the same seed gives the same text', '1')
    .option('--stop <text>', 'stop before this text; may be repeated', (text, all: string[]) => [...all, text], [])
    .option('--threads <n>', 'default: one for each processor')
    .option('--kernels <name>', 'native, reference (slow, exact activations), or auto: native where built', 'auto')
    .option('--context <n>', 'tokens that the KV cache holds (default: as many as are needed)')
    .option('--kv <format>', 'of the KV cache: F16 or F32', 'F16')
    .option('--memory <size>', 'all that the process may take, such as 600MiB; weights beyond it are streamed')
    .option('--kv-memory <size>', 'memory for the KV cache, such as 200MiB; its oldest pages go to a file')
    .option('--kv-pages <n>', `with --kv-memory: tokens of a page (default: ${PAGE_TOKENS})`)
    .option('--kv-folder <path>', 'with --kv-memory: where that file lies (default: the folder for temporary files)')
    .option('--trace <file>', 'write what ran when, for ui.perfetto.dev')
    .option('--json', 'print text, tokens and times as JSON at the end')
    .action((options: Options) => run(readOptions(options)));
}

function readOptions(options: Options): GenerateRequest {
  const { model, prompt, system, stop, json = false, chat = false } = options;
  if (system !== undefined && !chat) throw new InputError('--system', 'is for conversations only; add --chat');
  if (stop.includes('')) throw new InputError('--stop', 'is empty, and would stop before anything; give a text');
  return {
    model,
    prompt,
    chat,
    system,
    json,
    stops: stop,
    tokens: optional(options.tokens, (text) => readCount('--tokens', text)),
    sampling: {
      temperature: readNumber('--temperature', options.temperature, 0, 100),
      topK: readCount('--top-k', options.topK, 0),
      topP: readNumber('--top-p', options.topP, 0, 1),
      minP: readNumber('--min-p', options.minP, 0, 1),
      repeatPenalty: readNumber('--repeat-penalty', options.repeatPenalty, 0.01, 100),
    },
    seed: readCount('--seed', options.seed, 0, 2 ** 32 - 1),
    kernels: {
      implementation: readChoice('--kernels', options.kernels, ['auto', 'native', 'reference']),
      ...(options.threads === undefined ? {} : { threads: readCount('--threads', options.threads, 1, 1024) }),
    },
    context: optional(options.context, (text) => readCount('--context', text)),
    kvCache: readChoice('--kv', options.kv, ['F16', 'F32']),
    memory: optional(options.memory, (text) => parseQuantity(text, 'size', '--memory')),
    paging: readPaging(options),
    trace: options.trace,
  };
}

function readPaging({ kvMemory, kvPages, kvFolder }: Options): KvPaging | undefined {
  if (kvMemory !== undefined) {
    const pageTokens = kvPages === undefined ? PAGE_TOKENS : readCount('--kv-pages', kvPages);
    return { memory: parseQuantity(kvMemory, 'size', '--kv-memory'), pageTokens, folder: kvFolder ?? tmpdir() };
  }
  const alone = kvPages !== undefined ? '--kv-pages' : kvFolder !== undefined ? '--kv-folder' : undefined;
  if (alone !== undefined) throw new InputError(alone, 'is for a KV cache with a limit; add --kv-memory');
  return undefined;
}

function optional(text: string | undefined, read: (text: string) => number): number | undefined {
  return text === undefined ? undefined : read(text);
}
