import { Option } from 'commander';
import type { KernelOptions } from '../kernels/open-kernels.ts';
import { readChoice, readCount } from '../terminal/options.ts';
import { SAMPLER_DEFAULTS } from '../text/sampling/sampler.ts';

/** Options of several commands: each is described here once and read by a function below. */
export const OPTIONS = {
  model: new Option('--model <file>', 'a GGUF file').makeOptionMandatory(),
  modelOrPart: new Option(
    '--model <file>',
    'a GGUF file, or a part of one written by hearth split',
  ).makeOptionMandatory(),
  kernels: new Option(
    '--kernels <name>',
    'native, reference (slow, exact activations), or auto: native if it is built',
  ).default('auto'),
  threads: new Option('--threads <n>', 'threads that compute (default: one for each processor)'),
  memory: new Option('--memory <size>', 'limit of the process, such as 600MiB; weights beyond it are streamed'),
  context: new Option('--context <n>', 'tokens that the KV cache holds (default: as many as are needed)'),
  kvCache: new Option('--kv <format>', 'format of the KV cache: F16 or F32').default('F16'),
  temperature: new Option('--temperature <x>', '0: always the most likely token').default(
    String(SAMPLER_DEFAULTS.temperature),
  ),
  seed: new Option('--seed <n>', 'the same seed gives the same text').default('1'),
} as const;

/** Reads `--kernels` and `--threads`. @throws InputError */
export function readKernels(options: { readonly kernels: string; readonly threads?: string }): KernelOptions {
  const implementation = readChoice('--kernels', options.kernels, ['auto', 'native', 'reference']);
  return options.threads === undefined ? { implementation } : { implementation, threads: readThreads(options.threads) };
}

/** Reads `--threads`. @throws InputError */
export function readThreads(text: string): number {
  return readCount('--threads', text, 1, 1024);
}

/** Reads `--kv`. @throws InputError */
export function readKvCache(text: string): 'F16' | 'F32' {
  return readChoice('--kv', text, ['F16', 'F32']);
}

/** Reads `--seed`. @throws InputError */
export function readSeed(text: string): number {
  return readCount('--seed', text, 0, 2 ** 32 - 1);
}

/** Reads an option that may be missing. */
export function optional<Value>(text: string | undefined, read: (text: string) => Value): Value | undefined {
  return text === undefined ? undefined : read(text);
}

/** Collects the values of an option that may be repeated. */
export function repeated(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, text];
}
