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
import { checkDifferentFiles, checkOutputFile, FORCE, type OutputFile } from './output-file.ts';
import { addPlaceOptions, type Place, type PlaceTexts, readPlace } from './place-options.ts';
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
  /** At least one; more than one in a ring alone. */
  readonly prompts: readonly string[];
  readonly chat: boolean;
  readonly system: string | undefined;
  /** `undefined`: DEFAULT_TOKENS, or fewer if the context has no room for them. */
  readonly tokens: number | undefined;
  readonly sampling: SamplerOptions;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly kernels: KernelOptions;
  readonly place: Place;
  /** Pages of the GPU's KV cache in RAM: those beyond a limit to its memory, or all but the newest; `undefined`: none. */
  readonly gpuPaging: GpuPaging | undefined;
  /** Tokens that the KV cache holds; `undefined`: as many as are needed. */
  readonly context: number | undefined;
  readonly kvCache: KvFormat;
  /** Bytes that the process may take on one machine; `undefined`: not limited. */
  readonly memory: number | undefined;
  /** Paging of the KV cache; `undefined`: it stays in memory as a whole. */
  readonly paging: KvPaging | undefined;
  readonly experts: Partial<ExpertsPolicy> | undefined;
  /** A file of hearth pack-experts. */
  readonly packedExperts: string | undefined;
  /** A record of experts that tokens use whatever routers choose. */
  readonly routing: string | undefined;
  readonly drafts: DraftRequest;
  /** Files for the devices of a ring as measured, and for its plan; `undefined`: neither is written. */
  readonly saveCluster: OutputFile | undefined;
  readonly savePlan: OutputFile | undefined;
  /** The file for the run's trace; `undefined`: no trace is written. */
  readonly trace: OutputFile | undefined;
  readonly json: boolean;
}

export const DEFAULT_TOKENS = 128;

const PAGE_TOKENS = HELM_PAGING.pageTokens;

/** The options as commander passes them. */
interface Options extends SamplingTexts, DraftTexts, PlaceTexts, ExpertTexts {
  readonly model?: string;
  readonly prompt: readonly string[];
  readonly chat?: true;
  readonly system?: string;
  readonly tokens?: string;
  readonly seed: string;
  readonly stop: readonly string[];
  readonly kernels: string;
  readonly threads?: string;
  readonly exact?: boolean;
  readonly fast?: boolean;
  readonly gpuMemory?: string;
  readonly kvHost?: true;
  readonly context?: string;
  readonly kv: string;
  readonly kvMemory?: string;
  readonly kvPages?: string;
  readonly kvFolder?: string;
  readonly routing?: string;
  readonly saveCluster?: string;
  readonly savePlan?: string;
  readonly trace?: string;
  readonly force?: true;
  readonly json?: true;
}

/** The command, under both of its names: `run` is about rings alone. */
export function createGenerateCommand(
  name: 'generate' | 'run',
  run: (request: GenerateRequest) => Promise<void>,
): Command {
  const command = new Command(name)
    .description(
      name === 'run'
        ? 'Continues texts with a model whose layers run on several devices, in a ring; this one is the head. It is hearth generate with --worker or --cluster.'
        : 'Continues a text, or answers a message with --chat; writes the text as it is generated. With --worker or --cluster the model’s layers run on the devices of a ring, and this one is the head.',
    )
    .addOption(OPTIONS.modelPartOrOwn)
    .requiredOption(
      '--prompt <text>',
      'the text to continue or, with --chat, to answer; -: standard input; in a ring several are generated together',
      repeated,
    )
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
  return addPlaceOptions(addExpertOptions(command, { replays: true }))
    .option(
      '--gpu-memory <size>',
      'with --gpu-layers: the GPU’s memory for weights and KV cache, such as 200MiB; the cache’s oldest pages go to RAM',
    )
    .option(
      '--kv-host',
      'with --gpu-layers: keep the KV cache of these layers in RAM, except the newest page; it passes through the GPU for every token',
    )
    .option(
      '--save-cluster <file>',
      'writes the devices and links of a ring as measured, for --cluster and experiments',
    )
    .option('--save-plan <file>', 'writes the plan that a ring runs, for hearth split and experiments')
    .option('--trace <file>', 'write a trace of the run, of all devices of a ring, for ui.perfetto.dev')
    .addOption(FORCE)
    .option('--json', 'print text, tokens and times as JSON at the end, a line for each prompt')
    .action((options: Options, called: Command) => run(readOptions(options, called)));
}

function readOptions(options: Options, called: Command): GenerateRequest {
  const { prompt, system, stop, json = false, chat = false } = options;
  if (system !== undefined && !chat) throw new InputError('--system', 'is used only with --chat; add it');
  const drafts = readTracelessDrafts(options);
  checkOwnDraft(drafts, { '--memory': options.memory, ...expertFlags(options) });
  if (stop.includes('')) throw new InputError('--stop', 'is empty; give the text at which to stop');
  const place = readGeneratingPlace(options, called);
  const isRing = place.ring !== undefined;
  if (prompt.length > 1 && !isRing)
    throw new InputError(
      '--prompt',
      `is given ${prompt.length} times; give one, or --worker or --cluster: a ring generates several together`,
    );
  if (prompt.filter((text) => text === '-').length > 1)
    throw new InputError('--prompt', 'is - twice; standard input can be read once');
  const { model, cluster, profile, plan, keys } = options;
  const output = (flag: string, kind: OutputFile['kind']) => (path: string) =>
    checkOutputFile({ flag, path, kind, inputs: [model, cluster, profile, plan, keys], force: options.force === true });
  const saveCluster = optional(options.saveCluster, output('--save-cluster', 'a cluster file'));
  const savePlan = optional(options.savePlan, output('--save-plan', 'a plan'));
  const trace = optional(options.trace, output('--trace', 'a trace'));
  checkDifferentFiles([saveCluster, savePlan, trace]);
  const request = {
    prompts: prompt.map(readPromptText),
    chat,
    system,
    json,
    stops: stop,
    tokens: optional(options.tokens, (text) => readCount('--tokens', text)),
    sampling: readSampling(options),
    seed: readSeed(options.seed),
    kernels: readKernels(options),
    place,
    gpuPaging: readGpuPaging(options),
    context: optional(options.context, (text) => readCount('--context', text)),
    kvCache: readKvCache(options.kv),
    memory: isRing ? undefined : optional(options.memory, (text) => parseQuantity(text, 'size', '--memory')),
    paging: readPaging(options),
    experts: isRing ? undefined : readExperts(options, options.memory),
    packedExperts: options.packedExperts,
    routing: readRouting(options),
    drafts,
    saveCluster,
    savePlan,
    trace,
  };
  // Last, so that a mistake in another option is all that is said.
  return { ...request, model: readModel(model) };
}

/** @throws InputError as readPlace does, and for a GPU's options without one */
function readGeneratingPlace(options: Options, called: Command): Place {
  const { gpuLayers, gpuMemory, kvHost, memory, kvMemory, kvPages, kvFolder, trace, routing } = options;
  const { draft, ownDraft, lookup } = options;
  const pages = { '--gpu-memory': gpuMemory, '--kv-host': kvHost };
  const ofCache = { '--kv-memory': kvMemory, '--kv-pages': kvPages, '--kv-folder': kvFolder };
  const experts = expertFlags(options);
  const onCpu = pagesFromGpu(options) ? undefined : kvMemory;
  if (gpuLayers !== undefined && onCpu !== undefined)
    throw new InputError(
      '--kv-memory',
      'works on the CPU alone; leave --gpu-layers out, or add --gpu-memory or --kv-host',
    );
  const place = readPlace(
    options,
    called,
    {
      onCpu: {
        ...{ '--memory': memory, '--trace': trace, '--routing': routing, ...experts },
        ...{ '--draft': draft, '--own-draft': ownDraft, '--lookup': lookup },
      },
      onOneMachine: { ...pages, ...ofCache, '--routing': routing, ...experts, '--own-draft': ownDraft },
      inRing: ['saveCluster', 'savePlan'],
    },
    called.name() === 'run',
  );
  if (place.ring === undefined && gpuLayers === undefined)
    for (const [flag, value] of Object.entries(pages))
      if (value !== undefined) throw new InputError(flag, 'is used only with --gpu-layers; add it');
  if (kvHost && gpuMemory !== undefined)
    throw new InputError('--kv-host', 'keeps one page on the GPU, --gpu-memory as many as it has room for; give one');
  return place;
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

/**
 * The number of tokens to generate, as requested or as fits into the context, and the context for prompt and tokens.
 * @param prompt tokens of the longest
 * @param trained the context length that the model was trained for
 */
export function roomFor(prompt: number, { tokens, context }: GenerateRequest, trained: number) {
  const most = context ?? trained;
  const wanted = tokens ?? Math.max(1, Math.min(DEFAULT_TOKENS, most - prompt));
  return { tokens: wanted, context: context ?? Math.min(trained, prompt + wanted) };
}
