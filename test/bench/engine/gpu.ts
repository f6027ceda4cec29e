import { parseArgs } from 'node:util';
import { formatPercent, threeDigits } from '../../../engine/input/format.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { readChoices, readCount, readList } from '../../../engine/terminal/options.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import { benchModel, SHAPE_NAMES } from './bench-model.ts';
import { type Discipline, middle } from './contest.ts';
import { findLlama, NODE_LLAMA } from './find-llama.ts';
import { cellText, type GpuCell, gpuContest } from './gpu-contest.ts';
import { readLlamaBenches } from './llama-bench.ts';

/** Compares Hearth with llama.cpp on a GPU: the same files, each engine in its own process, taking turns. */
const HELP = `npm run bench:gpu -- [options]

Decoding and prefilling with all layers on a GPU: Hearth by WebGPU, and llama.cpp’s Vulkan and CUDA builds (through
node-llama-cpp, which is installed next to the project’s own packages where it is missing). Both are also held against what
Hearth’s probes reach in the same minutes: decoding the bandwidth of reading weights, prefilling the rate of products.

  --shapes 1b,8b           models with random weights, made once, in the folder of temporary files
  --types F16,Q8_0,Q4_K_M  their weights
  --models <file,...>      these files in place of random models
  --decode 64              tokens decoded in a turn
  --prompts 512,2048       lengths of prompts
  --repeat 5               turns of each engine: medians, and the least and largest ratio of a turn
  --device <name>          the GPU, by a part of its name (hearth inspect --devices)
  --peer <name=path>       a program llama-bench, of any build of llama.cpp, in place of node-llama-cpp’s: where nothing
                           can be installed, or with the CUDA of the machine; may be repeated
  --peer node-llama-cpp    those builds next to it
  --alone                  Hearth by itself
  --json                   the same as JSON
  --help
`;

const TYPES = ['F16', 'Q8_0', 'Q4_K_M', 'Q4_0', 'Q6_K'] as const;

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
  const all: GpuCell[] = [];
  const engines = new Set<string>();
  for (const file of files) {
    const contest = gpuContest({
      ...{ file: await file(), disciplines, repeats, device: values.device, folder, programs },
      builds: ['vulkan', 'cuda'],
      described: (engine) => engines.add(engine),
      missing: (reason) => process.stderr.write(`  ${reason}\n`),
    });
    const cells = new Map<string, GpuCell>();
    for await (const cell of contest) {
      if (Number.isFinite(cell.share)) process.stderr.write(`${cellText(cell)}\n`);
      cells.set(`${cell.kind} ${cell.tokens}`, cell);
    }
    all.push(...cells.values());
  }
  const text = `${[...engines].join('\n')}\n\n${gpuTable(all)}`;
  process.stdout.write(values.json ? `${JSON.stringify({ engines: [...engines], cells: all }, null, 2)}\n` : text);
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
    const reached = formatPercent(share);
    return [model, mix, `${kind} ${tokens}`, threeDigits(middle(hearth)), reached, ...against];
  });
  const columns = [
    ...[{ title: 'model' }, { title: 'weights' }, { title: 'what' }],
    ...[right('Hearth\ntokens/s'), right('share of\nthe limit')],
    ...builds.flatMap((name) => [right(`${name}\ntokens/s`), right('Hearth’s\nratio')]),
  ];
  return formatTable(columns, rows);
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'bench:gpu');
}
