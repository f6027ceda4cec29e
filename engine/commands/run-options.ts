import { Command } from 'commander';
import { InputError } from '../input/input-error.ts';
import type { KernelOptions } from '../kernels/open-kernels.ts';
import { PREFETCHES, RELEASES } from '../plan/weights-policy.ts';
import type { RequestedWeights } from '../ring/head/planning.ts';
import { FEWEST_CHUNK_TOKENS, MOST_CHUNK_TOKENS } from '../ring/head/prompt-chunks.ts';
import { ACTIVATION_FORMATS, type ActivationFormat } from '../ring/wire/frame.ts';
import type { KeyPair } from '../ring/wire/keys.ts';
import { SCHEDULER_NAMES, type SchedulerName } from '../schedule/registry.ts';
import { readChoice, readCount, readNumber } from '../terminal/options.ts';
import { SAMPLER_DEFAULTS, type SamplerOptions } from '../text/sampling/sampler.ts';
import { LINK_DELAY_HELP, readDeviceMemory, readLinkDelay, readLinkKeys } from './ring-options.ts';

/** What `hearth run` was asked for. */
export interface RunRequest {
  readonly model: string;
  /** Undefined: the devices are `workers`. */
  readonly cluster: string | undefined;
  /** Addresses, each with a comma and its public key behind it where links are encrypted. */
  readonly workers: readonly string[];
  /** Of this device; undefined: it is measured where that is needed. */
  readonly profile: string | undefined;
  readonly saveCluster: string | undefined;
  readonly keys: KeyPair | undefined;
  readonly prompts: readonly string[];
  readonly plan: string | undefined;
  /** Undefined: none was named. */
  readonly scheduler: SchedulerName | undefined;
  readonly savePlan: string | undefined;
  readonly tokens: number;
  readonly sampling: SamplerOptions;
  readonly seed: number;
  /** Undefined: as much as the longest prompt needs. */
  readonly context: number | undefined;
  readonly kvCache: 'F16' | 'F32';
  readonly activations: ActivationFormat;
  readonly chunk: number;
  readonly kernels: KernelOptions;
  /** Bytes for this device's weights and caches. */
  readonly memory: number;
  /** Seconds that what it sends waits before. */
  readonly linkDelay: number;
  readonly requested: RequestedWeights;
  readonly trace: string | undefined;
  readonly json: boolean;
}

/** As commander hands them over. */
interface Options {
  readonly model: string;
  readonly cluster?: string;
  readonly worker: readonly string[];
  readonly profile?: string;
  readonly saveCluster?: string;
  readonly keys?: string;
  readonly plain?: true;
  readonly prompt: readonly string[];
  readonly plan?: string;
  readonly scheduler?: string;
  readonly savePlan?: string;
  readonly tokens: string;
  readonly temperature: string;
  readonly seed: string;
  readonly context?: string;
  readonly kv: string;
  readonly activations: string;
  readonly chunk: string;
  readonly memory?: string;
  readonly linkDelay?: string;
  readonly prefetch?: string;
  readonly release?: string;
  readonly threads?: string;
  readonly kernels: string;
  readonly trace?: string;
  readonly json?: true;
}

export function createRunCommand(run: (request: RunRequest) => Promise<void>): Command {
  return new Command('run')
    .description('Continues texts with a model whose layers run on several devices, in a ring; this one is the head.')
    .requiredOption('--model <file>', 'a GGUF file, or the part of one that hearth split wrote')
    .option('--cluster <file>', 'the devices, each with address and publicKey (datasets/README.md)')
    .option(
      '--worker <address,key>',
      'in place of --cluster: tcp://host:port of a worker and its public key; may be repeated, in ring order',
      (text, all: string[]) => [...all, text],
      [],
    )
    .option('--profile <file>', 'of this device, from hearth profile, for plans where --cluster has no hardware facts')
    .option('--save-cluster <file>', 'writes what devices and links were found to be, for --cluster and experiments')
    .requiredOption(
      '--prompt <text>',
      'what to continue; several go through the ring together',
      (text, all: string[] = []) => [...all, text],
    )
    .option('--keys <file>', 'of this device, from hearth keygen')
    .option('--plain', 'links without encryption')
    .option('--plan <file>', 'which layers run where')
    .option(
      '--scheduler <name>',
      `who plans where there is no plan, or a device is gone: ${SCHEDULER_NAMES.join(', ')}`,
    )
    .option('--save-plan <file>', 'writes the plan that is carried out, for hearth split and experiments')
    .option('--tokens <n>', 'the most to generate', '128')
    .option('--temperature <x>', '0: always the most likely token', String(SAMPLER_DEFAULTS.temperature))
    .option('--seed <n>', 'the same seed gives the same text', '1')
    .option('--context <n>', 'tokens that the KV cache holds (default: as many as are needed)')
    .option('--kv <format>', 'of the KV cache: F16 or F32', 'F16')
    .option('--activations <format>', 'between devices: F32, which changes nothing, or F16, half the bytes', 'F32')
    .option('--chunk <n>', 'tokens of a prompt that go through the ring together', String(MOST_CHUNK_TOKENS))
    .option('--memory <size>', 'all that this device may take, such as 640MiB (default: what is available)')
    .option(
      '--prefetch <how>',
      `of the next window, while others compute, on all devices: ${PREFETCHES.join(', ')} (default: as planned, or populate where it pays)`,
    )
    .option(
      '--release <how>',
      'of a window after its turn, on all devices: none (the system decides), drop, or pinned, which keeps a prefix of ' +
        'every window (default: as planned, or pinned)',
    )
    .option('--link-delay <time>', LINK_DELAY_HELP)
    .option('--threads <n>', 'of this device (default: one for each processor)')
    .option('--kernels <name>', 'native, reference (slow, exact activations), or auto: native where built', 'auto')
    .option('--trace <file>', 'writes what every device did when, for ui.perfetto.dev')
    .option('--json', 'print texts, tokens and times as JSON, a line for each prompt')
    .action((options: Options) => run(readOptions(options)));
}

function readOptions(options: Options): RunRequest {
  const { model, cluster, worker: workers, profile, saveCluster, prompt, plan, savePlan, trace } = options;
  const { scheduler, json = false } = options;
  if ((cluster === undefined) === (workers.length === 0))
    throw new InputError('--cluster', 'or --worker is needed, and not both: a file of the devices, or their addresses');
  return {
    model,
    cluster,
    workers,
    profile,
    saveCluster,
    keys: readLinkKeys(options),
    prompts: prompt,
    plan,
    scheduler: scheduler === undefined ? undefined : readChoice('--scheduler', scheduler, SCHEDULER_NAMES),
    savePlan,
    tokens: readCount('--tokens', options.tokens),
    sampling: { ...SAMPLER_DEFAULTS, temperature: readNumber('--temperature', options.temperature, 0, 100) },
    seed: readCount('--seed', options.seed, 0, 2 ** 32 - 1),
    context: options.context === undefined ? undefined : readCount('--context', options.context),
    kvCache: readChoice('--kv', options.kv, ['F16', 'F32']),
    activations: readChoice('--activations', options.activations, ACTIVATION_FORMATS),
    chunk: readCount('--chunk', options.chunk, FEWEST_CHUNK_TOKENS, MOST_CHUNK_TOKENS),
    kernels: {
      implementation: readChoice('--kernels', options.kernels, ['auto', 'native', 'reference']),
      ...(options.threads === undefined ? {} : { threads: readCount('--threads', options.threads, 1, 1024) }),
    },
    memory: readDeviceMemory(options.memory),
    linkDelay: readLinkDelay(options.linkDelay),
    requested: {
      prefetch: options.prefetch === undefined ? undefined : readChoice('--prefetch', options.prefetch, PREFETCHES),
      release: options.release === undefined ? undefined : readChoice('--release', options.release, RELEASES),
    },
    trace,
    json,
  };
}
