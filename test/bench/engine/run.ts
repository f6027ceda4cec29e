import { statSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { makeOutputFolder } from '../../../commands/output-file.ts';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { loadAddon } from '../../../engine/kernels/native/addon.ts';
import { FILE_MIXES } from '../../../engine/model/mix.ts';
import { readAnew } from '../../../engine/profile/disk.ts';
import { readChoice, readChoices, readCount, readList } from '../../../engine/terminal/options.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { benchModel, madeShape, SHAPE_NAMES } from './bench-model.ts';
import { type Cell, cellOf } from './cell.ts';
import { type Child, startChild } from './child.ts';
import { contest, type Discipline, disciplineName, type Requests } from './contest.ts';
import type { Task } from './contestant.ts';
import type { Engine } from './engine.ts';
import { findLlama, NODE_LLAMA } from './find-llama.ts';
import { readLlamaBenches, startLlamaBench } from './llama-bench.ts';
import { type MemoryOf, memoryTable, speedTable } from './report.ts';

/** Compares Hearth with its peers: the same files, each engine in its own process, taking turns. */
const HELP = `npm run bench:engine -- [options]

Decoding and prefilling by Hearth and by its peers, with what memory and processors allow in the same minutes. Tables go
to stdout: medians of tokens per second, and medians and quartiles of the ratio of two turns of the same round.

  --types F16,Q8_0,Q4_K_M  weights; the models (random weights) are made once, in the folder of temporary files;
                           any mix that hearth make-model writes
  --shape 1b               TinyLlama’s; 8b: Llama 3’s; olmoe, qwen3-mixture and gpt-oss: the first 8, 12 and 8 layers of
                           OLMoE-1B-7B, Qwen3-30B-A3B and gpt-oss-20b (--types MXFP4_MOE); deepseek2: 8 layers of
                           GLM-4.7-Flash; gemma-3: Gemma-3-1B; qwen3.5, qwen3-next and granite-hybrid: 16, 4 and 16
                           layers of Qwen3.5-4B, Qwen3-Next-80B-A3B and Granite-4.0-H-Tiny
  --threads 1,2            of all engines
  --what decode:128,prefill:128,prefill:512
                           what is timed, and with how many tokens; requests:8 is eight texts at once, each continued by
                           16 tokens
  --repeat 7               rounds
  --seconds 300            time for all rounds together, after which none begins; each cell has one
  --quick                  short for --what decode:32,prefill:128 --repeat 3
  --peer <name=path>       a program llama-bench, of llama.cpp or ik_llama.cpp, under any name; may be repeated
  --peer node-llama-cpp    the prebuilt llama.cpp of that package, which is installed next to the project’s own packages
                           where it is missing; the peer where none is named
  --alone                  Hearth by itself
  --instructions auto      Hearth’s instruction set: avx2, for example
  --json                   the same as JSON
  --out <file>             into this file
  --help

See also: npm run bench:engine:kernels (each kernel against bandwidth and peak).
`;

/** Tokens by which llama.cpp's cache grows. */
const CONTEXT_STEP = 256;
const MOST_REQUESTS = 64;
/** Tokens by which each of several texts is continued. */
const REQUEST_TOKENS = 16;
/** Tokens of context beyond those decoded: the prompt and a reserve. */
const CONTEXT_SPARE = 8;

/** Starts a peer with a model, or returns undefined where it can't have one and the others go on. */
type PeerStarter = (task: Task) => Promise<Engine | undefined>;

interface Settings {
  readonly disciplines: readonly (Discipline | Requests)[];
  readonly repetitions: number;
  /** Seconds left for a cell; infinite unless rounds have a limit. */
  readonly cellSeconds: () => number;
  readonly instructions: string;
  readonly peers: readonly PeerStarter[];
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
      shape: { type: 'string', default: '1b' },
      threads: { type: 'string', default: availableParallelism() > 1 ? '1,2' : '1' },
      what: { type: 'string' },
      repeat: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      peer: { type: 'string', multiple: true },
      alone: { type: 'boolean', default: false },
      instructions: { type: 'string', default: 'auto' },
      json: { type: 'boolean', default: false },
      out: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const types = readChoices('--types', values.types, FILE_MIXES);
  const shape = readChoice('--shape', values.shape, SHAPE_NAMES);
  const threadCounts = readList('--threads', values.threads).map((text) =>
    readCount('--threads', text, 1, availableParallelism()),
  );
  if (values.out !== undefined) makeOutputFolder('--out', dirname(values.out));
  const repetitions =
    values.repeat === undefined ? (values.quick ? 3 : 7) : readCount('--repeat', values.repeat, 1, 1000);
  const what = values.what ?? (values.quick ? 'decode:32,prefill:128' : 'decode:128,prefill:128,prefill:512');
  const disciplines = readList('--what', what).map(readDiscipline);
  if (values.alone && values.peer !== undefined) throw new InputError('--alone', 'excludes --peer; leave one out');
  const addon = loadAddon();
  if (typeof addon === 'string')
    throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
  const instructions = readChoice('--instructions', values.instructions, ['auto', ...addon.instructionSets()]);
  const peers = await readPeers(values.alone ? [] : (values.peer ?? [NODE_LLAMA]));
  const results: Results = { cells: [], memory: [], engines: new Set() };
  const seconds =
    values.seconds === undefined ? Number.POSITIVE_INFINITY : readCount('--seconds', values.seconds, 1, 2 ** 20);
  const end = performance.now() / 1000 + seconds;
  const cells = types.length * threadCounts.length * disciplines.length;
  const cellSeconds = (): number => (end - performance.now() / 1000) / Math.max(1, cells - results.cells.length);
  const settings = { disciplines, repetitions, cellSeconds, instructions, peers };
  const load = loadavg()[0] ?? Number.NaN;
  for (const type of types) {
    const path = await benchModel(type, shape);
    // As it was made, or as others have left it in memory, it may lie in small pages, which takes all engines longer.
    readAnew(addon, path, statSync(path).size);
    for (const threads of threadCounts) {
      process.stderr.write(`${type}, ${threads === 1 ? '1 thread' : `${threads} threads`}\n`);
      await benchModelWith({ type, path, threads }, settings, results);
    }
  }
  const { name } = madeShape(shape);
  const text = values.json ? jsonOf(name, results, load) : textOf(name, results, load);
  if (values.out === undefined) process.stdout.write(text);
  else writeFileSync(values.out, text);
}

/** @throws InputError as readLlamaBenches does */
async function readPeers(texts: readonly string[]): Promise<PeerStarter[]> {
  const programs = readLlamaBenches('--peer', texts);
  const starters: PeerStarter[] = programs.map((program) => (task) => startLlamaBench(program, task));
  if (texts.includes(NODE_LLAMA)) {
    const found = await findLlama();
    if ('folder' in found) starters.push((task) => llamaOrSilence({ ...task, library: found.folder }));
    else process.stderr.write(`no llama.cpp to compare with (${found.reason})\n`);
  }
  return starters;
}

/** @throws InputError unless it is like "decode:128" */
function readDiscipline(text: string): Discipline | Requests {
  const [name = '', count = ''] = text.split(':');
  const kind = readChoice('--what', name, ['decode', 'prefill', 'requests'] as const);
  if (kind === 'requests')
    return { kind, requests: readCount('--what', count, 1, MOST_REQUESTS), tokens: REQUEST_TOKENS };
  return { kind, tokens: readCount('--what', count, 1, 2 ** 16) };
}

async function llamaOrSilence(task: Task): Promise<Child | undefined> {
  try {
    return await startChild('llama', task);
  } catch (error) {
    process.stderr.write(`  ${NODE_LLAMA} doesn’t load this (${(error as Error).message})\n`);
    return undefined;
  }
}

/** All disciplines with one model and number of threads: the engines keep it loaded. */
async function benchModelWith(
  { type, path, threads }: { readonly type: string; readonly path: string; readonly threads: number },
  { disciplines, repetitions, cellSeconds, instructions, peers }: Settings,
  { cells, memory, engines }: Results,
): Promise<void> {
  const model = withFile(path, (bytes) => modelFromGguf(readGguf(bytes)));
  const most = Math.max(...disciplines.map(({ tokens }) => tokens)) + CONTEXT_SPARE;
  const context = Math.ceil(most / CONTEXT_STEP) * CONTEXT_STEP;
  const texts = Math.max(1, ...disciplines.map((one) => (one.kind === 'requests' ? one.requests : 1)));
  const task = { model: path, threads, context, texts };
  const started: Engine[] = [];
  try {
    const hearth = await startChild('hearth', { ...task, instructions });
    started.push(hearth);
    for (const start of peers) {
      const peer = await start(task);
      if (peer !== undefined) started.push(peer);
    }
    // Warms up with the longest of each kind: memory is touched, weights are in the page cache, and nothing grows
    // later.
    const longest = Math.max(...disciplines.map(({ kind, tokens }) => (kind === 'prefill' ? tokens : 1)));
    for (const engine of started) {
      process.stderr.write(`  ${engine.description}\n`);
      engines.add(engine.description);
      if (!engine.continues) continue;
      await engine.prefill(longest);
      await engine.decode(2);
      if (texts > 1) await engine.requests?.(texts, 2);
      if (isChild(engine)) {
        memory.push({ engine: engine.name, type, threads, before: engine.before, memory: await engine.memory() });
      }
    }
    for (const discipline of disciplines) {
      const end = performance.now() / 1000 + cellSeconds();
      const hasTime = (): boolean => performance.now() / 1000 < end;
      const rounds = await contest(discipline, hearth, started.slice(1), { repetitions, hasTime });
      const cell = cellOf({ discipline, type, threads, model, rounds });
      cells.push(cell);
      const ratios = cell.peers.map(({ name, ratio }) => `${ratio.median.toFixed(2)} × ${name}`);
      process.stderr.write(`  ${disciplineName(cell)}: ${ratios.join(', ') || 'done'}\n`);
    }
  } finally {
    for (const engine of started) engine.close();
  }
}

function isChild(engine: Engine): engine is Child {
  return 'memory' in engine;
}

function jsonOf(model: string, { cells, memory, engines }: Results, load: number): string {
  const processor = cpus()[0]?.model ?? 'unknown';
  return `${JSON.stringify({ model, processor, load, engines: [...engines], cells, memory }, null, 2)}\n`;
}

function textOf(model: string, { cells, memory, engines }: Results, load: number): string {
  return `${model}, random weights
${[...engines].join('\n')}
load average at the beginning: ${load.toFixed(2)}

${speedTable(cells)}
decode is held against reading memory, prefill against the peak of vector instructions

${memoryTable(memory)}`;
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'bench:engine');
}
