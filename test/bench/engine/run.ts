import { parseArgs } from 'node:util';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { readChoice, readChoices, readCount, readList } from '../../../engine/terminal/options.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { benchModel } from './bench-model.ts';
import { type Cell, cellOf } from './cell.ts';
import { type Child, startChild } from './child.ts';
import { contest, type Discipline } from './contest.ts';
import type { Task } from './contestant.ts';
import { findLlama } from './find-llama.ts';
import { type MemoryOf, memoryTable, speedTable } from './report.ts';

/** Compares Hearth and llama.cpp: the same files, each engine in its own process, taking turns. */
const HELP = `npm run bench:engine -- [options]

Decoding and prefilling by Hearth and by llama.cpp (through node-llama-cpp, which is installed beside the project's own
packages where it is missing), with what memory and processors allow in the same minutes. Tables go to stdout.

  --types F16,Q8_0,Q4_K_M  weights; the models (1.1B, random weights) are made once, in the folder of temporary files
  --threads 1,2            of both engines
  --what decode:128,prefill:128,prefill:512
                           what is timed, and with how many tokens
  --repeat 5               runs of each: medians are shown
  --quick                  short for --what decode:32,prefill:128 --repeat 3
  --alone                  Hearth by itself
  --json                   the same as JSON
  --help

See also: npm run bench:engine:kernels (each kernel against bandwidth and peak).
`;

const TYPES = [
  'F16',
  'BF16',
  'F32',
  'Q8_0',
  'Q4_K_M',
  'Q4_K_S',
  'Q6_K',
  'Q5_K',
  'Q3_K',
  'Q2_K',
  'Q4_0',
  'Q5_0',
] as const;

/** Tokens by which llama.cpp's cache grows. */
const CONTEXT_STEP = 256;
/** Tokens of context beyond those decoded: the prompt and a reserve. */
const CONTEXT_SPARE = 8;

interface Settings {
  readonly disciplines: readonly Discipline[];
  readonly repetitions: number;
  /** Folder of node-llama-cpp. */
  readonly library: string | undefined;
}

interface Results {
  readonly cells: Cell[];
  readonly memory: MemoryOf[];
  readonly engines: Set<string>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      types: { type: 'string', default: 'F16,Q8_0,Q4_K_M' },
      threads: { type: 'string', default: '1,2' },
      what: { type: 'string' },
      repeat: { type: 'string' },
      quick: { type: 'boolean', default: false },
      alone: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const types = readChoices('--types', values.types, TYPES);
  const threadCounts = readList('--threads', values.threads).map((text) => readCount('--threads', text, 1, 1024));
  const repetitions =
    values.repeat === undefined ? (values.quick ? 3 : 5) : readCount('--repeat', values.repeat, 1, 1000);
  const what = values.what ?? (values.quick ? 'decode:32,prefill:128' : 'decode:128,prefill:128,prefill:512');
  const disciplines = readList('--what', what).map(readDiscipline);
  const library = values.alone ? undefined : await libraryOrSilence();
  const results: Results = { cells: [], memory: [], engines: new Set() };
  for (const type of types) {
    const path = await benchModel(type);
    for (const threads of threadCounts) {
      process.stderr.write(`${type}, ${threads === 1 ? '1 thread' : `${threads} threads`}\n`);
      await benchModelWith({ type, path, threads }, { disciplines, repetitions, library }, results);
    }
  }
  print(results, values.json);
}

/** @throws InputError unless it is like "decode:128" */
function readDiscipline(text: string): Discipline {
  const [kind = '', tokens = ''] = text.split(':');
  return {
    kind: readChoice('--what', kind, ['decode', 'prefill'] as const),
    tokens: readCount('--what', tokens, 1, 2 ** 16),
  };
}

async function libraryOrSilence(): Promise<string | undefined> {
  const found = await findLlama();
  if ('folder' in found) return found.folder;
  process.stderr.write(`no llama.cpp to compare with (${found.reason}); Hearth by itself\n`);
  return undefined;
}

async function llamaOrSilence(task: Task): Promise<Child | undefined> {
  try {
    return await startChild('llama', task);
  } catch (error) {
    process.stderr.write(`  llama.cpp doesn't load this (${(error as Error).message}); Hearth by itself\n`);
    return undefined;
  }
}

/** All disciplines with one model and number of threads: both engines keep it loaded. */
async function benchModelWith(
  { type, path, threads }: { readonly type: string; readonly path: string; readonly threads: number },
  { disciplines, repetitions, library }: Settings,
  { cells, memory, engines }: Results,
): Promise<void> {
  const model = withFile(path, (bytes) => modelFromGguf(readGguf(bytes)));
  const most = Math.max(...disciplines.map(({ tokens }) => tokens)) + CONTEXT_SPARE;
  const context = Math.ceil(most / CONTEXT_STEP) * CONTEXT_STEP;
  const task = { model: path, threads, context };
  const children: Child[] = [];
  try {
    const hearth = await startChild('hearth', task);
    children.push(hearth);
    const llama = library === undefined ? undefined : await llamaOrSilence({ ...task, library });
    if (llama !== undefined) children.push(llama);
    // Warms up with the longest of each kind: memory is touched, weights are in the page cache, and nothing grows
    // later.
    const longest = Math.max(...disciplines.map(({ kind, tokens }) => (kind === 'prefill' ? tokens : 1)));
    for (const child of children) {
      process.stderr.write(`  ${child.description}\n`);
      engines.add(child.description);
      await child.prefill(longest);
      await child.decode(2);
      const engine = child === hearth ? 'Hearth' : 'llama.cpp';
      memory.push({ engine, type, threads, before: child.before, memory: await child.memory() });
    }
    for (const discipline of disciplines) {
      const rounds = await contest(discipline, hearth, llama, repetitions);
      const cell = cellOf({ ...discipline, type, threads, model, rounds });
      cells.push(cell);
      process.stderr.write(`  ${cell.kind} ${cell.tokens}: ${cell.ratio?.median.toFixed(2) ?? 'done'}\n`);
    }
  } finally {
    for (const child of children) child.close();
  }
}

function print({ cells, memory, engines }: Results, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ engines: [...engines], cells, memory }, null, 2)}\n`);
    return;
  }
  process.stdout.write(`${[...engines].join('\n')}\n\n`);
  process.stdout.write(`${speedTable(cells)}\n`);
  process.stdout.write('decode is held against reading memory, prefill against the peak of vector instructions\n\n');
  process.stdout.write(memoryTable(memory));
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'bench:engine');
}
