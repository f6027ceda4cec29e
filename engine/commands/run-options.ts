import { Command } from 'commander';
import { InputError } from '../input/input-error.ts';
import type { KernelOptions } from '../kernels/open-kernels.ts';
import { PREFETCHES, RELEASES } from '../plan/weights-policy.ts';
import { type RequestedWeights, RING_SCHEDULERS, type RingScheduler } from '../ring/head/planning.ts';
import { FEWEST_CHUNK_TOKENS, MOST_CHUNK_TOKENS } from '../ring/head/request.ts';
import { ACTIVATION_FORMATS, type ActivationFormat } from '../ring/wire/frame.ts';
import type { KeyPair } from '../ring/wire/keys.ts';
import { readChoice, readCount, readNumber } from '../terminal/options.ts';
import { SAMPLER_DEFAULTS, type SamplerOptions } from '../text/sampling/sampler.ts';
import { checkDifferentFiles, checkOutputFile, FORCE, type OutputFile } from './output-file.ts';
import { deviceMemoryLimit, LINK_DELAY_HELP, readDeviceMemory, readLinkDelay, readLinkKeys } from './ring-options.ts';
import { OPTIONS, optional, readKernels, readKvCache, readPromptText, readSeed, repeated } from './shared-options.ts';

/** The parsed options of `hearth run`. */
export interface RunRequest {
  readonly model: string;
  /** The cluster file; `undefined`: the devices are `workers`. */
  readonly cluster: string | undefined;
  /** `address`, or `address,publicKey` if links are encrypted. */
  readonly workers: readonly string[];
  /** The profile of this device; `undefined`: it is measured if needed. */
  readonly profile: string | undefined;
  readonly saveCluster: OutputFile | undefined;
  readonly keys: KeyPair | undefined;
  readonly prompts: readonly string[];
  readonly chat: boolean;
  readonly system: string | undefined;
  readonly plan: string | undefined;
  /** `undefined`: none is given. */
  readonly scheduler: RingScheduler | undefined;
  readonly savePlan: OutputFile | undefined;
  readonly tokens: number;
  readonly sampling: SamplerOptions;
  readonly seed: number;
  /** Tokens that a KV cache holds; `undefined`: as many as the longest prompt needs. */
  readonly context: number | undefined;
  readonly kvCache: 'F16' | 'F32';
  readonly activations: ActivationFormat;
  readonly chunk: number;
  readonly kernels: KernelOptions;
  /** The GPU that this device computes on too, or `none`; `undefined`: the fastest, unless it is software. */
  readonly device: string | undefined;
  /** Bytes for weights and KV caches on this device. */
  readonly memory: number;
  /** Memory of the whole process, or the RAM, bytes. */
  readonly memoryLimit: number;
  /** Most memory pressure of a device that a made plan may cause, as a share; `undefined`: what is available. */
  readonly maxPressure: number | undefined;
  /** Seconds that frames wait before they are sent. */
  readonly linkDelay: number;
  readonly requested: RequestedWeights;
  readonly trace: OutputFile | undefined;
  readonly json: boolean;
}

/** The options as commander passes them. */
interface Options {
  readonly model: string;
  readonly cluster?: string;
  readonly worker: readonly string[];
  readonly profile?: string;
  readonly saveCluster?: string;
  readonly keys?: string;
  readonly plain?: true;
  readonly prompt: readonly string[];
  readonly chat?: true;
  readonly system?: string;
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
  readonly maxPressure?: string;
  readonly linkDelay?: string;
  readonly prefetch?: string;
  readonly release?: string;
  readonly threads?: string;
  readonly kernels: string;
  readonly device?: string;
  readonly trace?: string;
  readonly force?: true;
  readonly json?: true;
}

export function createRunCommand(run: (request: RunRequest) => Promise<void>): Command {
  return new Command('run')
    .description('Continues texts with a model whose layers run on several devices, in a ring; this one is the head.')
    .addOption(OPTIONS.modelOrPart)
    .option('--cluster <file>', 'the devices, each with address and publicKey (datasets/README.md)')
    .option(
      '--worker <address,key>',
      'in place of --cluster: tcp://host:port of a worker and its public key; may be repeated, in ring order',
      repeated,
      [],
    )
    .option(
      '--profile <file>',
      'profile of this device, from hearth profile, for plans if --cluster has no hardware facts',
    )
    .option('--save-cluster <file>', 'writes the devices and links as measured, for --cluster and experiments')
    .requiredOption(
      '--prompt <text>',
      'the text to continue or, with --chat, to answer; -: standard input; several go through the ring together',
      repeated,
    )
    .option('--chat', "take the prompts as users' messages, in the model's chat template")
    .addOption(OPTIONS.system)
    .option('--keys <file>', 'keys of this device, from hearth keygen')
    .option('--plain', 'links without encryption')
    .option('--plan <file>', 'a plan: which layers run where')
    .option('--scheduler <name>', `makes the plan if none is given or a device is lost: ${RING_SCHEDULERS.join(', ')}`)
    .option('--save-plan <file>', 'writes the plan that is carried out, for hearth split and experiments')
    .option('--tokens <n>', 'the most tokens to generate', '128')
    .addOption(OPTIONS.temperature)
    .addOption(OPTIONS.seed)
    .addOption(OPTIONS.context)
    .addOption(OPTIONS.kvCache)
    .option(
      '--activations <format>',
      'format of activations between devices: F32 (exact) or F16 (half the bytes)',
      'F32',
    )
    .option('--chunk <n>', 'tokens of a prompt that go through the ring together', String(MOST_CHUNK_TOKENS))
    .option('--memory <size>', 'limit of the process, such as 640MiB (default: what is available)')
    .option(
      '--max-pressure <share>',
      'most memory that a device may hold and not reclaim, as a share of its RAM, such as 0.06: for plans that --scheduler ring-aware makes',
    )
    .option(
      '--prefetch <how>',
      `how all devices prefetch their next window while others compute: ${PREFETCHES.join(', ')} (default: as planned, or populate if it helps)`,
    )
    .option(
      '--release <how>',
      'how all devices release a window after it ran: none (the operating system decides), drop, or pinned, which keeps ' +
        'a prefix of every window (default: as planned, or pinned)',
    )
    .option('--link-delay <time>', LINK_DELAY_HELP)
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.ringDevice)
    .option('--trace <file>', 'write a trace of all devices, for ui.perfetto.dev')
    .addOption(FORCE)
    .option('--json', 'print texts, tokens and times as JSON, one line per prompt')
    .action((options: Options) => run(readOptions(options)));
}

function readOptions(options: Options): RunRequest {
  const { model, cluster, worker: workers, profile, prompt, plan, scheduler, json = false } = options;
  const inputs = [model, cluster, profile, plan, options.keys];
  const output = (flag: string, kind: OutputFile['kind']) => (path: string) =>
    checkOutputFile({ flag, path, kind, inputs, force: options.force === true });
  if ((cluster === undefined) === (workers.length === 0))
    throw new InputError('--cluster', 'or --worker is needed, but not both: a file of the devices, or their addresses');
  if (options.system !== undefined && options.chat !== true)
    throw new InputError('--system', 'is used only with --chat; add it');
  const saveCluster = optional(options.saveCluster, output('--save-cluster', 'a cluster file'));
  const savePlan = optional(options.savePlan, output('--save-plan', 'a plan'));
  const trace = optional(options.trace, output('--trace', 'a trace'));
  checkDifferentFiles([saveCluster, savePlan, trace]);
  if (prompt.filter((text) => text === '-').length > 1)
    throw new InputError('--prompt', 'is - twice; standard input can be read once');
  return {
    model,
    cluster,
    workers,
    profile,
    saveCluster,
    keys: readLinkKeys(options),
    prompts: prompt.map(readPromptText),
    chat: options.chat === true,
    system: options.system,
    plan,
    scheduler: optional(scheduler, (name) => readChoice('--scheduler', name, RING_SCHEDULERS)),
    savePlan,
    tokens: readCount('--tokens', options.tokens),
    sampling: { ...SAMPLER_DEFAULTS, temperature: readNumber('--temperature', options.temperature, 0, 100) },
    seed: readSeed(options.seed),
    context: optional(options.context, (text) => readCount('--context', text)),
    kvCache: readKvCache(options.kv),
    activations: readChoice('--activations', options.activations, ACTIVATION_FORMATS),
    chunk: readCount('--chunk', options.chunk, FEWEST_CHUNK_TOKENS, MOST_CHUNK_TOKENS),
    kernels: readKernels(options),
    device: options.device,
    memory: readDeviceMemory(options.memory),
    memoryLimit: deviceMemoryLimit(options.memory),
    maxPressure: readMaxPressure(options),
    linkDelay: readLinkDelay(options.linkDelay),
    requested: {
      prefetch: optional(options.prefetch, (how) => readChoice('--prefetch', how, PREFETCHES)),
      release: optional(options.release, (how) => readChoice('--release', how, RELEASES)),
    },
    trace,
    json,
  };
}

/** @throws InputError unless `ring-aware` makes the plan, since no other scheduler keeps to a limit */
function readMaxPressure({ maxPressure, scheduler }: Options): number | undefined {
  if (maxPressure === undefined) return undefined;
  if (scheduler !== 'ring-aware')
    throw new InputError('--max-pressure', 'is a limit that only ring-aware keeps to; add --scheduler ring-aware');
  return readNumber('--max-pressure', maxPressure, 0.001, 1);
}
