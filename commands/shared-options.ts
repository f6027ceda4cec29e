import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { formatBytes } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { KernelOptions } from '../engine/kernels/open-kernels.ts';
import { DEFAULT_KV_FORMAT, KV_FORMATS, type KvFormat } from '../engine/model/kv-format.ts';
import { readChoice, readCount, readNumber } from '../engine/terminal/options.ts';
import { SAMPLER_DEFAULTS, type SamplerOptions } from '../engine/text/sampling/sampler.ts';

/** The model that comes with Hearth, by its path in the package. */
const OWN_MODEL = 'datasets/models/stories-3m.gguf';

/** Options of several commands: each is described here once and read by a function below. */
export const OPTIONS = {
  model: new Option('--model <file>', 'a GGUF file').makeOptionMandatory(),
  modelOrOwn: new Option('--model <file>', `a GGUF file (default: ${OWN_MODEL})`),
  modelPartOrOwn: new Option(
    '--model <file>',
    `a GGUF file, or a part of one written by hearth split (default: ${OWN_MODEL})`,
  ),
  modelOrPart: new Option(
    '--model <file>',
    'a GGUF file, or a part of one written by hearth split',
  ).makeOptionMandatory(),
  kernels: new Option(
    '--kernels <name>',
    'native, reference (slow, exact activations), or auto: native if it is built',
  ).default('auto'),
  exact: new Option(
    '--exact',
    'round activations to 15 bits instead of 8, nothing to bfloat16, and attend in single precision: slower',
  ),
  fast: new Option(
    '--fast',
    'round F16 weights to bfloat16 (8 significant bits of 11) for prompts, on processors that multiply it: faster',
  ).conflicts('exact'),
  threads: new Option('--threads <n>', 'threads that compute (default: one for each processor)'),
  memory: new Option('--memory <size>', 'limit of the process, such as 600MiB; weights beyond it are streamed'),
  measure: new Option(
    '--measure',
    'measure the devices again, instead of reusing earlier measurements with this version and these formats',
  ),
  ringDevice: new Option(
    '--device <name>',
    'the GPU that this device computes on too, by its name or a part of it, or none (default: the fastest, unless it is software)',
  ),
  gpuLayers: new Option(
    '--gpu-layers <n>',
    'run the last n layers, or all, and the output layer on a GPU (WebGPU); auto: as many as cpu-gpu-split plans for this machine',
  ),
  cpuMoe: new Option(
    '--cpu-moe',
    'with --gpu-layers: keep the experts of all layers on the CPU, and the rest of the layers on the GPU',
  ),
  nCpuMoe: new Option('--n-cpu-moe <n>', 'the same for the experts of the first n layers of the model'),
  device: new Option(
    '--device <name>',
    'the GPU, by its name or a part of it, as hearth inspect --devices lists them; in a ring also none (default: the fastest; in a ring unless it is software)',
  ),
  context: new Option('--context <n>', 'tokens that the KV cache holds (default: as many as are needed)'),
  kvCache: new Option('--kv <format>', `format of the KV cache: ${KV_FORMATS.join(', ')}`).default(DEFAULT_KV_FORMAT),
  temperature: new Option('--temperature <x>', '0: always the most likely token').default(
    String(SAMPLER_DEFAULTS.temperature),
  ),
  topK: new Option('--top-k <n>', 'draw from the n most likely tokens; 0: from all').default(
    String(SAMPLER_DEFAULTS.topK),
  ),
  topP: new Option(
    '--top-p <x>',
    'draw from the fewest tokens whose probabilities add up to this; 1: from all',
  ).default(String(SAMPLER_DEFAULTS.topP)),
  minP: new Option(
    '--min-p <x>',
    'draw from tokens with at least this fraction of the most likely one’s probability',
  ).default(String(SAMPLER_DEFAULTS.minP)),
  repeatPenalty: new Option('--repeat-penalty <x>', 'divides the logits of the last 64 tokens; 1: none').default(
    String(SAMPLER_DEFAULTS.repeatPenalty),
  ),
  system: new Option('--system <text>', 'with --chat: the system message'),
  seed: new Option('--seed <n>', 'the same seed gives the same text').default('1'),
} as const;

/** Reads `--model`; without one it is the bundled demo model, which a line on stderr says. */
export function readModel(given: string | undefined): string {
  if (given !== undefined) return given;
  process.stderr.write(
    `no --model given; using the bundled demo model ${OWN_MODEL} (children’s stories, simple sums)\n`,
  );
  return fileURLToPath(new URL(`../${OWN_MODEL}`, import.meta.url));
}

/** Reads `--kernels`, `--threads`, `--exact` and `--fast`. @throws InputError */
export function readKernels(options: {
  readonly kernels: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
}): KernelOptions {
  const implementation = readChoice('--kernels', options.kernels, ['auto', 'native', 'reference']);
  return {
    implementation,
    ...(options.threads !== undefined && { threads: readThreads(options.threads) }),
    ...(options.exact === true && { exact: true }),
    ...(options.fast === true && { fast: true }),
  };
}

/** Reads `--threads`. @throws InputError */
export function readThreads(text: string): number {
  return readCount('--threads', text, 1, 1024);
}

/** Reads `--kv`, in capitals or small letters. @throws InputError */
export function readKvCache(text: string): KvFormat {
  return readChoice('--kv', text.toUpperCase(), KV_FORMATS);
}

/** Reads `--seed`. @throws InputError */
export function readSeed(text: string): number {
  return readCount('--seed', text, 0, 2 ** 32 - 1);
}

/** The options of drawing tokens, as commander passes them. */
export interface SamplingTexts {
  readonly temperature: string;
  readonly topK: string;
  readonly topP: string;
  readonly minP: string;
  readonly repeatPenalty: string;
}

/** Reads the options of drawing tokens. @throws InputError */
export function readSampling({ temperature, topK, topP, minP, repeatPenalty }: SamplingTexts): SamplerOptions {
  return {
    temperature: readNumber('--temperature', temperature, 0, 100),
    topK: readCount('--top-k', topK, 0),
    topP: readNumber('--top-p', topP, 0, 1),
    minP: readNumber('--min-p', minP, 0, 1),
    repeatPenalty: readNumber('--repeat-penalty', repeatPenalty, 0.01, 100),
  };
}

/** Bytes of a prompt from standard input: a hundred times the longest context. */
const MOST_PROMPT_BYTES = 2 ** 26;

/**
 * Reads `--prompt`: the text itself or, for `-`, standard input without the line break at its end.
 * @throws InputError for a standard input that can't be read, is longer than MOST_PROMPT_BYTES, or is no UTF-8
 */
export function readPromptText(text: string): string {
  if (text !== '-') return text;
  let bytes: Buffer;
  try {
    bytes = readFileSync(process.stdin.fd);
  } catch (error) {
    throw new InputError('--prompt -', `standard input can’t be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (bytes.length > MOST_PROMPT_BYTES)
    throw new InputError('--prompt -', `standard input has more than ${formatBytes(MOST_PROMPT_BYTES)}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw new InputError('--prompt -', 'standard input is not UTF-8 text');
  }
}

/** Reads an option that may be missing. */
export function optional<Value>(text: string | undefined, read: (text: string) => Value): Value | undefined {
  return text === undefined ? undefined : read(text);
}

/** Collects the values of an option that may be repeated. */
export function repeated(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, text];
}
