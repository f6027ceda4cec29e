import { parseArgs } from 'node:util';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { formatPercent, threeDigits } from '../../../engine/input/format.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import type { Model } from '../../../engine/model/model.ts';
import { readChoices, readCount, readList } from '../../../engine/terminal/options.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import { benchModel, SHAPE_NAMES } from './bench-model.ts';
import { decodeBytes } from './cell.ts';
import { type Child, startChild } from './child.ts';
import { type Discipline, middle } from './contest.ts';
import type { Engine } from './engine.ts';
import { findLlama, NODE_LLAMA } from './find-llama.ts';
import { type LlamaBench, readLlamaBenches, startLlamaBench } from './llama-bench.ts';

/** Compares Hearth with llama.cpp on a GPU: the same files, each engine in its own process, taking turns. */
const HELP = `npm run bench:gpu -- [options]

Decoding and prefilling with all layers on a GPU: Hearth by WebGPU, and llama.cpp's Vulkan and CUDA builds (through
node-llama-cpp, which is installed beside the project's own packages where it is missing). Decoding is also held against
the bandwidth at which Hearth's probe reads weights in the same minutes.

  --shapes 1b,8b           models with random weights, made once, in the folder of temporary files
  --types F16,Q8_0,Q4_K_M  their weights
  --models <file,...>      these files in place of random models
  --decode 64              tokens decoded in a turn
  --prompts 512,2048       lengths of prompts
  --repeat 5               turns of each engine: medians, and the least and largest ratio of a turn
  --device <name>          the GPU, by a part of its name (hearth inspect --devices)
  --peer <name=path>       a program llama-bench, of any build of llama.cpp, in place of node-llama-cpp's: where nothing
                           can be installed, or with the CUDA of the machine; may be repeated
  --peer node-llama-cpp    those builds beside it
  --alone                  Hearth by itself
  --json                   the same as JSON
  --help
`;

const TYPES = ['F16', 'Q8_0', 'Q4_K_M', 'Q4_0', 'Q6_K'] as const;

/** Tokens by which llama.cpp's cache grows. */
const CONTEXT_STEP = 256;

/** Hearth, and what it is compared with. */
interface Engines {
  readonly hearth: Child;
  readonly all: readonly Engine[];
}

/** A model in one discipline: tokens per second of every turn, by engine. */
interface GpuCell extends Discipline {
  readonly model: string;
  readonly mix: string;
  readonly rates: Readonly<Record<string, readonly number[]>>;
  /** Decoding: bytes of weights per second over the probe's. */
  readonly share: number | undefined;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      shapes: { type: 'string', default: '1b,8b' },
      types: { type: 'string', default: 'F16,Q8_0,Q4_K_M' },
      models: { type: 'string' },
      decode: { type: 'string', default: '64' },
      prompts: { type: 'string', default: '512,2048' },
      repeat: { type: 'string', default: '5' },
      device: { type: 'string' },
      peer: { type: 'string', multiple: true },
      alone: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const shapes = readChoices('--shapes', values.shapes, SHAPE_NAMES);
  const types = readChoices('--types', values.types, TYPES);
  const disciplines: Discipline[] = [
    { kind: 'decode', tokens: readCount('--decode', values.decode, 1, 10_000) },
    ...readList('--prompts', values.prompts).map((text) => ({
      kind: 'prefill' as const,
      tokens: readCount('--prompts', text, 1, 65_536),
    })),
  ];
  const repeats = readCount('--repeat', values.repeat, 1, 1000);
  if (values.alone && values.peer !== undefined) throw new InputError('--alone', 'excludes --peer; leave one out');
  const peers = values.alone ? [] : (values.peer ?? [NODE_LLAMA]);
  const programs = readLlamaBenches('--peer', peers);
  const library = peers.includes(NODE_LLAMA) ? await findLlama() : undefined;
  if (library !== undefined && 'reason' in library)
    process.stderr.write(`no llama.cpp to compare with (${library.reason})\n`);
  const folder = library !== undefined && 'folder' in library ? library.folder : undefined;
  const made = shapes.flatMap((shape) => types.map((type) => () => benchModel(type, shape)));
  const files =
    values.models === undefined ? made : readList('--models', values.models).map((file) => async () => file);
  const cells: GpuCell[] = [];
  const engines = new Set<string>();
  for (const file of files) {
    const contest = { file: await file(), disciplines, repeats, device: values.device, folder, programs };
    cells.push(...(await runModel(contest, (description) => engines.add(description))));
  }
  const text = `${[...engines].join('\n')}\n\n${gpuTable(cells)}`;
  process.stdout.write(values.json ? `${JSON.stringify({ engines: [...engines], cells }, null, 2)}\n` : text);
}

interface ModelContest {
  readonly file: string;
  readonly disciplines: readonly Discipline[];
  readonly repeats: number;
  readonly device: string | undefined;
  readonly folder: string | undefined;
  readonly programs: readonly LlamaBench[];
}

async function runModel(contest: ModelContest, described: (engine: string) => void): Promise<GpuCell[]> {
  const { file, disciplines, repeats, device, folder, programs } = contest;
  const model = withFile(file, (bytes) => modelFromGguf(readGguf(bytes)));
  const most = Math.max(...disciplines.map(({ tokens }) => tokens)) + 8;
  const task = {
    model: file,
    threads: 1,
    context: Math.ceil(most / CONTEXT_STEP) * CONTEXT_STEP,
    vocabulary: model.vocabularySize,
  };
  process.stderr.write(`${model.name} ${model.mix}\n`);
  const all: Engine[] = [];
  try {
    const hearth = await startChild('hearth-gpu', { ...task, gpu: { build: 'vulkan', device } });
    all.push(hearth);
    for (const build of folder === undefined ? [] : (['vulkan', 'cuda'] as const)) {
      const started = await startChild('llama', { ...task, library: folder ?? '', gpu: { build, device } }).catch(
        ({ message }: Error) => message,
      );
      if (typeof started === 'string') process.stderr.write(`  llama.cpp, ${build}: ${started}\n`);
      else all.push({ ...started, name: `llama.cpp ${build}` });
    }
    for (const program of programs) all.push(await startLlamaBench(program, task));
    for (const engine of all) {
      described(engine.description);
      if (!engine.continues) continue; // warms up in each turn
      await engine.prefill(Math.max(...disciplines.map(({ kind, tokens }) => (kind === 'prefill' ? tokens : 1))));
      await engine.decode(2);
    }
    const cells: GpuCell[] = [];
    for (const discipline of disciplines) cells.push(await runDiscipline(model, discipline, { hearth, all }, repeats));
    return cells;
  } finally {
    for (const engine of all) engine.close();
  }
}

/** All engines in turn, another one first each time. */
async function runDiscipline(
  model: Model,
  { kind, tokens }: Discipline,
  { hearth, all }: Engines,
  repeats: number,
): Promise<GpuCell> {
  const rates: Record<string, number[]> = Object.fromEntries(all.map(({ name }) => [name, []]));
  const shares: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (let turn = 0; turn < all.length; turn++) {
      const engine = all[(repeat + turn) % all.length] as Engine;
      if (kind === 'decode' && engine.continues) await engine.prefill(1);
      const { seconds } = kind === 'decode' ? await engine.decode(tokens) : await engine.prefill(tokens);
      rates[engine.name]?.push(tokens / seconds);
    }
    if (kind === 'decode') {
      const { readBandwidth } = await hearth.limits();
      shares.push(((rates[hearth.name]?.at(-1) ?? Number.NaN) * decodeBytes(model)) / readBandwidth);
    }
  }
  const own = Object.entries(rates).map(([name, each]) => `${name} ${threeDigits(middle(each))}`);
  process.stderr.write(`  ${kind} ${tokens}: ${own.join(', ')} tokens/s\n`);
  return {
    model: model.name,
    mix: model.mix,
    kind,
    tokens,
    rates,
    share: shares.length === 0 ? undefined : middle(shares),
  };
}

function gpuTable(cells: readonly GpuCell[]): string {
  const builds = [...new Set(cells.flatMap(({ rates }) => Object.keys(rates)))].filter((name) => name !== 'Hearth');
  const right = (title: string) => ({ title, align: 'right' as const });
  const rows = cells.map(({ model, mix, kind, tokens, rates, share }) => {
    const hearth = rates.Hearth ?? [];
    const against = builds.flatMap((name) => {
      const others = rates[name];
      if (others === undefined) return ['–', '–'];
      const ratios = others.map((other, turn) => (hearth[turn] ?? Number.NaN) / other);
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
      return [threeDigits(middle(others)), `${middle(ratios).toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`];
    });
    const reached = share === undefined ? '' : formatPercent(share);
    return [model, mix, `${kind} ${tokens}`, threeDigits(middle(hearth)), reached, ...against];
  });
  const columns = [
    ...[{ title: 'model' }, { title: 'weights' }, { title: 'what' }],
    ...[right('Hearth\ntokens/s'), right('share of\nbandwidth')],
    ...builds.flatMap((name) => [right(`${name}\ntokens/s`), right('Hearth’s\nratio')]),
  ];
  return formatTable(columns, rows);
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'bench:gpu');
}
