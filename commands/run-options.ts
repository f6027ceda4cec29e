import { Command } from 'commander';
import { InputError } from '../engine/input/input-error.ts';
import type { KernelOptions } from '../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../engine/model/kv-format.ts';
import { readCount, readNumber } from '../engine/terminal/options.ts';
import { SAMPLER_DEFAULTS, type SamplerOptions } from '../engine/text/sampling/sampler.ts';
import { checkDifferentFiles, checkOutputFile, FORCE, type OutputFile } from './output-file.ts';
import { addRingOptions, type RingOptions, type RingRequest, readRingRequest } from './ring-request.ts';
import { OPTIONS, optional, readKernels, readKvCache, readPromptText, readSeed, repeated } from './shared-options.ts';
import { type DraftRequest, type DraftTexts, readTracelessDrafts, SPECULATION_OPTIONS } from './speculation.ts';

/** The parsed options of `hearth run`. */
export interface RunRequest extends RingRequest {
  readonly model: string;
  readonly saveCluster: OutputFile | undefined;
  readonly prompts: readonly string[];
  readonly chat: boolean;
  readonly system: string | undefined;
  readonly savePlan: OutputFile | undefined;
  readonly tokens: number;
  readonly sampling: SamplerOptions;
  readonly seed: number;
  /** Tokens that a KV cache holds; `undefined`: as many as the longest prompt needs. */
  readonly context: number | undefined;
  readonly kvCache: KvFormat;
  readonly kernels: KernelOptions;
  readonly drafts: DraftRequest;
  readonly trace: OutputFile | undefined;
  readonly json: boolean;
}

/** The options as commander passes them. */
interface Options extends RingOptions, DraftTexts {
  readonly model: string;
  readonly saveCluster?: string;
  readonly prompt: readonly string[];
  readonly chat?: true;
  readonly system?: string;
  readonly savePlan?: string;
  readonly tokens: string;
  readonly temperature: string;
  readonly seed: string;
  readonly context?: string;
  readonly kv: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly kernels: string;
  readonly trace?: string;
  readonly force?: true;
  readonly json?: true;
}

export function createRunCommand(run: (request: RunRequest) => Promise<void>): Command {
  const command = new Command('run')
    .description('Continues texts with a model whose layers run on several devices, in a ring; this one is the head.')
    .addOption(OPTIONS.modelOrPart)
    .requiredOption(
      '--prompt <text>',
      'the text to continue or, with --chat, to answer; -: standard input; several go through the ring together',
      repeated,
    )
    .option('--chat', 'take the prompts as users’ messages, in the model’s chat template')
    .addOption(OPTIONS.system)
    .option('--tokens <n>', 'generate at most this many tokens', '128')
    .addOption(OPTIONS.temperature)
    .addOption(OPTIONS.seed)
    .addOption(OPTIONS.context)
    .addOption(OPTIONS.kvCache)
    .option('--memory <size>', 'limit of the process, such as 640MiB (default: what is available)')
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast);
  return addRingOptions(command)
    .option('--save-cluster <file>', 'writes the devices and links as measured, for --cluster and experiments')
    .option('--save-plan <file>', 'writes the plan that is run, for hearth split and experiments')
    .addOption(SPECULATION_OPTIONS.draft)
    .addOption(SPECULATION_OPTIONS.lookup)
    .addOption(SPECULATION_OPTIONS.draftTokens)
    .option('--trace <file>', 'write a trace of all devices, for ui.perfetto.dev')
    .addOption(FORCE)
    .option('--json', 'print texts, tokens and times as JSON, one line per prompt')
    .action((options: Options) => run(readOptions(options)));
}

function readOptions(options: Options): RunRequest {
  const { model, cluster, profile, prompt, plan, json = false } = options;
  const inputs = [model, cluster, profile, plan, options.keys];
  const output = (flag: string, kind: OutputFile['kind']) => (path: string) =>
    checkOutputFile({ flag, path, kind, inputs, force: options.force === true });
  if (options.system !== undefined && options.chat !== true)
    throw new InputError('--system', 'is used only with --chat; add it');
  const drafts = readTracelessDrafts(options);
  const saveCluster = optional(options.saveCluster, output('--save-cluster', 'a cluster file'));
  const savePlan = optional(options.savePlan, output('--save-plan', 'a plan'));
  const trace = optional(options.trace, output('--trace', 'a trace'));
  checkDifferentFiles([saveCluster, savePlan, trace]);
  if (prompt.filter((text) => text === '-').length > 1)
    throw new InputError('--prompt', 'is - twice; standard input can be read once');
  return {
    ...readRingRequest(options),
    ...{ model, saveCluster, savePlan, trace, json },
    prompts: prompt.map(readPromptText),
    chat: options.chat === true,
    system: options.system,
    tokens: readCount('--tokens', options.tokens),
    sampling: { ...SAMPLER_DEFAULTS, temperature: readNumber('--temperature', options.temperature, 0, 100) },
    seed: readSeed(options.seed),
    context: optional(options.context, (text) => readCount('--context', text)),
    kvCache: readKvCache(options.kv),
    kernels: readKernels(options),
    drafts,
  };
}
