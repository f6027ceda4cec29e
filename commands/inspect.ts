import { Command } from 'commander';
import { describeGguf, type GgufDescription, type GgufOutline, outlineGguf } from '../engine/gguf/describe-gguf.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import type { Gguf } from '../engine/gguf/gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { formatBytes, formatPercent, threeDigits } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { noGpu } from '../engine/kernels/webgpu/open-device.ts';
import { probedGpus } from '../engine/kernels/webgpu/probed-gpus.ts';
import { driversMissing } from '../engine/kernels/webgpu/vulkan-drivers.ts';
import type { Shape } from '../engine/model/architecture.ts';
import { DEFAULT_KV_FORMAT, KV_FORMATS } from '../engine/model/kv-format.ts';
import type { Dense, Experts, Mixer } from '../engine/model/layer-kind.ts';
import { modelGraph } from '../engine/runtime/pass/graph.ts';
import { readCount } from '../engine/terminal/options.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { graphDot, graphTable } from './inspect-graph.ts';
import { readKvCache } from './shared-options.ts';

interface Options {
  readonly model?: string;
  readonly devices?: true;
  readonly graph?: true;
  readonly tokens?: string;
  readonly context?: string;
  readonly kv?: string;
  readonly dot?: true;
  readonly json?: true;
}

/** `hearth inspect`: shows the contents of a GGUF file, read from its header only. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'Shows the contents of a GGUF file (architecture, shapes, formats, bytes per layer, tokenizer), or the GPUs of this machine.',
    )
    .option('--model <file>', 'a GGUF file')
    .option('--devices', 'list the GPUs that --gpu-layers can use')
    .option('--graph', 'show the operators that run, with shapes, FLOPs and bytes, by partition unit (HELM 4.1.1)')
    .option('--tokens <n>', 'with --graph: tokens that are evaluated together (default: 1)')
    .option(
      '--context <n>',
      'with --graph: positions that the last of them sees (default: 512, or as many as --tokens)',
    )
    .option(
      '--kv <format>',
      `with --graph: format of the KV cache: ${KV_FORMATS.join(', ')} (default: ${DEFAULT_KV_FORMAT})`,
    )
    .option('--dot', 'with --graph: for Graphviz')
    .option('--json', 'print it as JSON; sizes in bytes')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { model, devices, graph, dot, json } = options;
  if ((model === undefined) === (devices === undefined))
    throw new InputError('--model', 'or --devices is needed, but not both: a GGUF file, or this machine’s GPUs');
  const ofGraph = (['dot', 'tokens', 'context', 'kv'] as const).find((option) => options[option] !== undefined);
  if (ofGraph !== undefined && !graph) throw new InputError(`--${ofGraph}`, 'is used only with --graph; add it');
  if (dot && json) throw new InputError('--dot', 'and --json are two forms of the graph; give one');
  if (graph && model === undefined)
    throw new InputError('--graph', 'is of a model; give --model in place of --devices');
  if (model === undefined) return await showDevices(json);
  if (graph) return showGraph(model, options);
  const gguf = withFile(model, readGguf);
  const description = described(gguf);
  if (json) process.stdout.write(`${JSON.stringify(withKindsOnce(description), null, 2)}\n`);
  else process.stdout.write('engine' in description ? outline(description) : describe(description));
}

/** Description of a file; for one that the engine can't run, as much as can be told. */
function described(gguf: Gguf): GgufDescription | GgufOutline {
  try {
    return describeGguf(gguf);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return outlineGguf(gguf, error.message);
  }
}

function outline({ formats, weightBytes, ...file }: GgufOutline): string {
  const known: [string, string | undefined][] = [
    ['model', file.name === undefined ? undefined : printable(file.name)],
    ['file', `${formatBytes(file.fileBytes)}, GGUF version ${file.version}`],
    ['architecture', file.architecture === undefined ? undefined : printable(file.architecture)],
    ['weights', `${billions(file.parameters)} parameters, ${formatBytes(weightBytes)}`],
    ['layers', file.layers === undefined ? undefined : String(file.layers)],
    ['hidden size', file.hiddenSize === undefined ? undefined : String(file.hiddenSize)],
    [
      'experts',
      file.experts === undefined ? undefined : `${file.experts}, of which a token uses ${file.expertsUsed ?? '?'}`,
    ],
    ['context', file.context === undefined ? undefined : `${file.context} tokens`],
    ['engine', `can’t run it: ${printable(file.engine.problem, 300)}`],
  ];
  const rows = known.filter((row): row is [string, string] => row[1] !== undefined);
  const table = formatTable([{ title: 'What' }, { title: 'Value', wraps: true }], rows);
  return [table, formatsTable({ formats, weightBytes })].join('\n');
}

function showGraph(file: string, options: Options): void {
  const { tokens: tokensText = '1', context: contextText, kv = DEFAULT_KV_FORMAT, dot, json } = options;
  const tokens = readCount('--tokens', tokensText, 1, 100_000);
  const context = readCount('--context', contextText ?? String(Math.max(512, tokens)), tokens);
  const graph = withFile(file, (bytes) =>
    modelGraph(readGguf(bytes), bytes, { tokens, context, kvFormat: readKvCache(kv) }),
  );
  const { model, ...shown } = graph;
  const text = json
    ? `${JSON.stringify({ model: model.name, mix: model.mix, ...shown }, null, 2)}\n`
    : graphTable(graph);
  process.stdout.write(dot ? graphDot(graph) : text);
}

async function showDevices(json: true | undefined): Promise<void> {
  const { gpus, problem } = await probedGpus();
  if (gpus.length > 0 && problem !== undefined) process.stderr.write(`${problem}\n`);
  const table = formatTable(
    [{ title: 'GPU' }, { title: 'Interface' }],
    gpus.map(({ name, backend }) => [name, backend]),
  );
  const text = gpus.length === 0 ? `${noGpu(problem ?? driversMissing()).message}\n` : table;
  process.stdout.write(json ? `${JSON.stringify(gpus, null, 2)}\n` : text);
}

function describe(description: GgufDescription): string {
  return [facts(description), formatsTable(description), parts(description)].join('\n');
}

/** The description with each kind of layer once, and the layers that are of it. */
function withKindsOnce(description: GgufDescription | GgufOutline) {
  if ('engine' in description) return description;
  const { shape, ...rest } = description;
  const kinds = [...new Set(shape.kinds)].map((kind) => ({
    layers: shape.kinds.flatMap((own, layer) => (own === kind ? [layer] : [])),
    ...kind,
  }));
  return { shape: { ...shape, kinds }, ...rest };
}

/** How layers mix the tokens of a text, with the number of layers where there are several ways. */
function mixerKinds({ kinds }: Shape): string {
  const counts = new Map<string, number>();
  for (const { mixer } of kinds) {
    const text = mixer === undefined ? 'not at all' : describeMixer(mixer);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts]
    .map(([text, count]) => (counts.size === 1 ? text : `${count} ${count === 1 ? 'layer' : 'layers'}: ${text}`))
    .join('; ');
}

function describeMixer(mixer: Mixer): string {
  switch (mixer.kind) {
    case 'attention': {
      const { heads, kvHeads, headSize, window, rotation, keysOf } = mixer;
      const sees = window === undefined ? '' : `, a window of ${window} tokens`;
      const keys = keysOf === undefined ? '' : `, those of layer ${keysOf}`;
      const turned = rotation === 'none' ? ', without rotation' : '';
      return `${heads} query heads, ${kvHeads} key and value heads of ${headSize}${keys}${sees}${turned}`;
    }
    case 'latent-attention': {
      const { heads, plainSize, rotatedSize, valueSize, rank } = mixer;
      return `${heads} heads of ${plainSize + rotatedSize} and ${valueSize}, compressed to ${rank} and ${rotatedSize}`;
    }
    case 'delta-net':
      return `Gated DeltaNet, ${mixer.keyHeads} key and ${mixer.valueHeads} value heads of ${mixer.size}`;
    case 'mamba':
      return `Mamba-2, ${mixer.heads} heads of ${mixer.headSize} with ${mixer.stateSize} states`;
    case 'short-convolution':
      return `a convolution of ${mixer.width} tokens`;
  }
}

function facts({ shape, settings, tokenizer, ...description }: GgufDescription): string {
  const { ropeDimensions, ropeBase, ropeScaling } = settings;
  const rows: [string, string][] = [
    ['model', printable(shape.name)],
    ['file', `${formatBytes(description.fileBytes)}, GGUF version ${description.version}`],
    ['architecture', shape.architecture],
    [
      'weights',
      `${billions(description.parameters)} parameters as ${description.mix}, ${formatBytes(description.weightBytes)}`,
    ],
    ['layers', String(shape.layers)],
    ['hidden size', `${shape.hiddenSize}, feed-forward ${feedForwardKinds(shape)}`],
    ['attention', mixerKinds(shape)],
    ['output', shape.tiedEmbeddings ? 'the embedding matrix (tied)' : 'a separate matrix'],
    ['biases', biasedProducts(shape)],
    ['context', `${settings.contextLength} tokens`],
    ['rotary angles', `base ${ropeBase}, ${ropeDimensions} values of a head, scaling ${printable(ropeScaling)}`],
    ['norm epsilon', String(Number(settings.normEpsilon.toPrecision(6)))],
    ['vocabulary', `${shape.vocabularySize} rows`],
    ['tokenizer', tokenizer === undefined ? 'none' : describeTokenizer(tokenizer)],
  ];
  return formatTable([{ title: 'What' }, { title: 'Value', wraps: true }], rows);
}

/** Names of the products that have biases in some layer. */
function biasedProducts({ kinds }: Shape): string {
  const names = kinds.flatMap(({ mixer, feedForward }) => [
    ...(mixer?.kind !== 'attention' || mixer.bias === false
      ? []
      : mixer.bias === true
        ? ['queries, keys and values']
        : mixer.bias),
    ...(mixer?.kind === 'attention' && mixer.outputBias ? ['attn_output'] : []),
    ...(feedForward?.kind === 'dense' ? (feedForward.biases ?? []) : feedForward?.bias ? ['router and experts'] : []),
  ]);
  return names.length === 0 ? 'none' : `on ${[...new Set(names)].join('; ')}`;
}

/** The feed-forward parts that layers have. */
function feedForwardKinds({ kinds }: Shape): string {
  const all = kinds.flatMap(({ feedForward }) => (feedForward === undefined ? [] : [describeFeedForward(feedForward)]));
  return [...new Set(all)].join(', ');
}

/** `14336`, `8 of 128 experts of 768`, `4 of 60 experts of 1408 and a shared one of 5632`. */
function describeFeedForward(feedForward: Dense | Experts): string {
  if (feedForward.kind === 'dense') return String(feedForward.size);
  const { router, size, shared, beside } = feedForward;
  const others =
    beside !== undefined
      ? ` and a dense network of ${beside}`
      : shared === undefined
        ? ''
        : ` and a shared one of ${shared.size}`;
  return `${router.used} of ${router.experts} experts of ${size}${others}`;
}

function describeTokenizer(tokenizer: NonNullable<GgufDescription['tokenizer']>): string {
  const { model, pre, tokens, merges, begin, end } = tokenizer;
  const texts = [
    begin === undefined ? '' : `begins "${printable(begin)}"`,
    end === undefined ? '' : `ends "${printable(end)}"`,
  ];
  const kind = pre === undefined ? model : `${model}/${pre}`;
  return [printable(kind), `${tokens} tokens`, `${merges} merges`, ...texts].filter((text) => text !== '').join(', ');
}

function formatsTable({ formats, weightBytes }: Pick<GgufDescription, 'formats' | 'weightBytes'>): string {
  const rows = formats.map(({ format, tensors, bytes }) => [
    format,
    String(tensors),
    formatBytes(bytes),
    formatPercent(bytes / weightBytes),
  ]);
  const right = ['Tensors', 'Size', 'Share'].map((title) => ({ title, align: 'right' }) as const);
  return formatTable([{ title: 'Format' }, ...right], rows);
}

/** Bytes of each part of the model. Consecutive layers of one size share a row. */
function parts({ embeddingBytes, layerBytes, outputBytes }: GgufDescription): string {
  const rows: [string, number, number][] = [['embedding', 1, embeddingBytes]];
  for (let first = 0; first < layerBytes.length; ) {
    const bytes = layerBytes[first] as number;
    let end = first + 1;
    while (layerBytes[end] === bytes) end++;
    rows.push([end === first + 1 ? `layer ${first}` : `layers ${first}–${end - 1}`, end - first, bytes]);
    first = end;
  }
  rows.push(['output', 1, outputBytes]);
  return formatTable(
    [{ title: 'Part' }, { title: 'Size of one', align: 'right' }, { title: 'Together', align: 'right' }],
    rows.map(([part, count, bytes]) => [part, formatBytes(bytes), formatBytes(count * bytes)]),
  );
}

function billions(count: number): string {
  return count >= 1e9 ? `${threeDigits(count / 1e9)} billion` : `${threeDigits(count / 1e6)} million`;
}

/** A text from a file, made safe for a terminal: without control characters, and not too long. */
function printable(text: string, most = 60): string {
  const shown = text.replace(/\p{C}/gu, '\ufffd');
  return shown.length > most ? `${shown.slice(0, most - 1)}…` : shown;
}
