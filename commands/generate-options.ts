import { tmpdir } from 'node:os';
import { Command } from 'commander';
import { HELM_PAGING } from '../engine/cost/kv-pages.ts';
import type { ExpertsPolicy } from '../engine/experts/experts-policy.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import type { KernelOptions } from '../engine/kernels/open-kernels.ts';
import type { KvFormat } from '../engine/model/kv-format.ts';
import type { GpuPaging } from '../engine/runtime/kv/gpu-pages.ts';
import type { KvPaging } from '../engine/runtime/load/load-transformer.ts';
import { readCount } from '../engine/terminal/options.ts';
import type { SamplerOptions } from '../engine/text/sampling/sampler.ts';
import { addExpertOptions, type ExpertTexts, expertFlags, readExperts, readRouting } from './expert-options.ts';
import { type CpuExperts, type CpuExpertsTexts, type GpuLayers, readCpuExperts, readGpuLayers } from './gpu-layers.ts';
import { checkOutputFile, FORCE, type OutputFile } from './output-file.ts';
import {
  OPTIONS,
  optional,
  readKernels,
  readKvCache,
  readModel,
  readPromptText,
  readSampling,
  readSeed,
  repeated,
  type SamplingTexts,
} from './shared-options.ts';
import {
  checkOwnDraft,
  type DraftRequest,
  type DraftTexts,
  readTracelessDrafts,
  SPECULATION_OPTIONS,
} from './speculation.ts';

/** The parsed options of `hearth generate`. */
export interface GenerateRequest {
  readonly model: string;
  readonly prompt: string;
  readonly chat: boolean;
  readonly system: string | undefined;
  /** `undefined`: DEFAULT_TOKENS, or fewer if the context has no room for them. */
  readonly tokens: number | undefined;
  readonly sampling: SamplerOptions;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly kernels: KernelOptions;
  /** Last layers that a GPU computes, with the output; 0: the CPU computes everything. */
  readonly gpuLayers: GpuLayers;
  /** Layers whose experts are on the CPU all the same; `undefined`: none. */
  readonly cpuExperts: CpuExperts | undefined;
  /** The GPU, by its name or a part of it; `undefined`: the fastest. */
  readonly device: string | undefined;
  /** Pages of the GPU's KV cache in RAM: those beyond a limit to its memory, or all but the newest; `undefined`: none. */
  readonly gpuPaging: GpuPaging | undefined;
  /** The profile by which `auto` decides; `undefined`: the machine is measured. */
  readonly profile: string | undefined;
  /** Tokens that the KV cache holds; `undefined`: as many as are needed. */
  readonly context: number | undefined;
  readonly kvCache: KvFormat;
  /** Bytes that the process may take; `undefined`: not limited. */
  readonly memory: number | undefined;
  /** Paging of the KV cache; `undefined`: it stays in memory as a whole. */
  readonly paging: KvPaging | undefined;
  readonly experts: Partial<ExpertsPolicy> | undefined;
  /** A file of hearth pack-experts. */
  readonly packedExperts: string | undefined;
  /** A record of experts that tokens use whatever routers choose. */
  readonly routing: string | undefined;
  readonly drafts: DraftRequest;
  /** The file for the run's trace; `undefined`: no trace is written. */
  readonly trace: OutputFile | undefined;
  readonly json: boolean;
}

export const DEFAULT_TOKENS = 128;

const PAGE_TOKENS = HELM_PAGING.pageTokens;

/** The options as commander passes them. */
interface Options extends SamplingTexts, DraftTexts, CpuExpertsTexts, ExpertTexts {
  readonly model?: string;
  readonly prompt: string;
  readonly chat?: true;
  readonly system?: string;
  readonly tokens?: string;
  readonly seed: string;
  readonly stop: readonly string[];
  readonly kernels: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly gpuLayers?: string;
  readonly device?: string;
  readonly gpuMemory?: string;
  readonly kvHost?: true;
  readonly profile?: string;
  readonly context?: string;
  readonly kv: string;
  readonly memory?: string;
  readonly kvMemory?: string;
  readonly kvPages?: string;
  readonly kvFolder?: string;
  readonly routing?: string;
  readonly trace?: string;
  readonly force?: true;
  readonly json?: true;
}

export function createGenerateCommand(run: (request: GenerateRequest) => Promise<void>): Command {
  const command = new Command('generate')
    .description('Continues a text, or answers a message with --chat; writes the text as it is generated.')
    .addOption(OPTIONS.modelOrOwn)
    .requiredOption('--prompt <text>', 'the text to continue or, with --chat, to answer; -: standard input')
    .option('--chat', 'take the prompt as a user’s message, in the model’s chat template')
    .addOption(OPTIONS.system)
    .option(
      '--tokens <n>',
      `generate at most this many tokens (default: ${DEFAULT_TOKENS}, or as many as the context has room for)`,
    )
    .addOption(OPTIONS.temperature)
    .addOption(OPTIONS.topK)
    .addOption(OPTIONS.topP)
    .addOption(OPTIONS.minP)
    .addOption(OPTIONS.repeatPenalty)
    .addOption(OPTIONS.seed)
    .option('--stop <text>', 'stop before this text; may be repeated', repeated, [])
    .addOption(OPTIONS.threads)
    .addOption(OPTIONS.kernels)
    .addOption(OPTIONS.exact)
    .addOption(OPTIONS.fast)
    .addOption(OPTIONS.gpuLayers)
    .addOption(OPTIONS.cpuMoe)
    .addOption(OPTIONS.nCpuMoe)
    .addOption(OPTIONS.device)
    .option(
      '--gpu-memory <size>',
      'with --gpu-layers: the GPU’s memory for weights and KV cache, such as 200MiB; the cache’s oldest pages go to RAM',
    )
    .option(
      '--kv-host',
      'with --gpu-layers: keep the KV cache of these layers in RAM, except the newest page; it passes through the GPU for every token',
    )
    .option('--profile <file>', 'with --gpu-layers auto: a file of hearth profile (default: the machine is measured)')
    .addOption(OPTIONS.context)
    .addOption(OPTIONS.kvCache)
    .addOption(OPTIONS.memory)
    .option(
      '--kv-memory <size>',
      'RAM for the KV cache, such as 200MiB; its oldest pages go to a file; with --gpu-memory or --kv-host: RAM for pages that leave the GPU',
    )
    .option('--kv-pages <n>', `with --kv-memory, --gpu-memory or --kv-host: tokens in a page (default: ${PAGE_TOKENS})`)
    .option('--kv-folder <path>', 'with --kv-memory: the folder of that file (default: the folder for temporary files)')
    .addOption(SPECULATION_OPTIONS.draft)
    .addOption(SPECULATION_OPTIONS.ownDraft)
    .addOption(SPECULATION_OPTIONS.lookup)
    .addOption(SPECULATION_OPTIONS.draftTokens);
  return addExpertOptions(command, { replays: true })
    .option('--trace <file>', 'write a trace of the run, for ui.perfetto.dev')
    .addOption(FORCE)
    .option('--json', 'print text, tokens and times as JSON at the end')
    .action((options: Options) => run(readOptions(options)));
}

function readOptions(options: Options): GenerateRequest {
  const { prompt, system, stop, json = false, chat = false } = options;
  if (system !== undefined && !chat) throw new InputError('--system', 'is used only with --chat; add it');
  const drafts = readTracelessDrafts(options);
  checkOwnDraft(drafts, { '--memory': options.memory, ...expertFlags(options) });
  if (stop.includes('')) throw new InputError('--stop', 'is empty; give the text at which to stop');
  const request = {
    prompt: readPromptText(prompt),
    chat,
    system,
    json,
    stops: stop,
    tokens: optional(options.tokens, (text) => readCount('--tokens', text)),
    sampling: readSampling(options),
    seed: readSeed(options.seed),
    kernels: readKernels(options),
    gpuLayers: readGpuRequest(options),
    cpuExperts: readCpuExperts(options, options.gpuLayers),
    device: options.device,
    gpuPaging: readGpuPaging(options),
    profile: options.profile,
    context: optional(options.context, (text) => readCount('--context', text)),
    kvCache: readKvCache(options.kv),
    memory: optional(options.memory, (text) => parseQuantity(text, 'size', '--memory')),
    paging: readPaging(options),
    experts: readExperts(options, options.memory),
    packedExperts: options.packedExperts,
    routing: readRouting(options),
    drafts,
    trace: optional(options.trace, (path) =>
      checkOutputFile({
        flag: '--trace',
        path,
        kind: 'a trace',
        inputs: [options.model],
        force: options.force === true,
      }),
    ),
  };
  // Last, so that a mistake in another option is all that is said.
  return { ...request, model: readModel(options.model) };
}

/** @throws InputError, also for what only a CPU does */
function readGpuRequest(options: Options): GpuLayers {
  const { gpuLayers, device, gpuMemory, kvHost, profile, memory, kvMemory, trace, draft, ownDraft, lookup } = options;
  const { routing } = options;
  if (device !== undefined && gpuLayers === undefined)
    throw new InputError('--device', 'is used only with --gpu-layers; add it');
  if (gpuMemory !== undefined && gpuLayers === undefined)
    throw new InputError('--gpu-memory', 'is used only with --gpu-layers; add it');
  if (kvHost && gpuLayers === undefined) throw new InputError('--kv-host', 'is used only with --gpu-layers; add it');
  if (kvHost && gpuMemory !== undefined)
    throw new InputError('--kv-host', 'keeps one page on the GPU, --gpu-memory as many as it has room for; give one');
  if (profile !== undefined && gpuLayers !== 'auto')
    throw new InputError('--profile', 'is used only with --gpu-layers auto; add it');
  if (gpuLayers === undefined) return 0;
  const onCpu = pagesFromGpu(options) ? undefined : kvMemory;
  const alone = {
    ...{ '--memory': memory, '--kv-memory': onCpu, '--trace': trace, '--routing': routing },
    ...expertFlags(options),
    ...{ '--draft': draft, '--own-draft': ownDraft, '--lookup': lookup },
  };
  for (const [name, value] of Object.entries(alone)) {
    if (value !== undefined) {
      const other = name === '--kv-memory' ? ', or add --gpu-memory or --kv-host' : '';
      throw new InputError(name, `works on the CPU alone; leave --gpu-layers out${other}`);
    }
  }
  return readGpuLayers(gpuLayers);
}

/** Whether pages of the KV cache leave a GPU. */
function pagesFromGpu({ gpuMemory, kvHost }: Options): boolean {
  return gpuMemory !== undefined || kvHost === true;
}

function readPaging(options: Options): KvPaging | undefined {
  const { kvMemory, kvPages, kvFolder } = options;
  if (kvMemory !== undefined && !pagesFromGpu(options)) {
    const pageTokens = readPageTokens(kvPages);
    return { memory: parseQuantity(kvMemory, 'size', '--kv-memory'), pageTokens, folder: kvFolder ?? tmpdir() };
  }
  const pagesAlone = kvPages !== undefined && !pagesFromGpu(options);
  const folderAlone = kvFolder !== undefined && kvMemory === undefined;
  const alone = pagesAlone ? '--kv-pages' : folderAlone ? '--kv-folder' : undefined;
  if (alone !== undefined) throw new InputError(alone, 'is used only with --kv-memory; add it');
  return undefined;
}

function readGpuPaging(options: Options): GpuPaging | undefined {
  const { gpuMemory, kvPages, kvMemory, kvFolder } = options;
  if (!pagesFromGpu(options)) return undefined;
  return {
    gpuMemory: optional(gpuMemory, (text) => parseQuantity(text, 'size', '--gpu-memory')),
    pageTokens: readPageTokens(kvPages),
    place: {
      folder: kvFolder ?? tmpdir(),
      ram: optional(kvMemory, (ram) => parseQuantity(ram, 'size', '--kv-memory')) ?? Number.POSITIVE_INFINITY,
    },
  };
}

function readPageTokens(text: string | undefined): number {
  return text === undefined ? PAGE_TOKENS : readCount('--kv-pages', text);
}
