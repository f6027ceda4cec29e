import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeOutputFolder } from '../../../commands/output-file.ts';
import { formatBytes } from '../../../engine/input/format.ts';
import { InputError } from '../../../engine/input/input-error.ts';
import { parseQuantity } from '../../../engine/input/quantity.ts';
import { readChoice, readCount, readList } from '../../../engine/terminal/options.ts';
import { createProgress } from '../../../engine/terminal/progress.ts';
import { reportError } from '../../../engine/terminal/report-error.ts';
import { runInGroup, type Surroundings } from '../../../experiments/experts/measure.ts';
import { MIXTURE_NAMES, MIXTURES, madeMixture, mixtureShape } from '../../../experiments/experts/mixtures.ts';
import { findLabGround } from '../../../experiments/lab/ground.ts';
import { REAL_FILES, runProgram } from '../../../experiments/lab/system.ts';
import { type Spread, spreadOf } from '../engine/cell.ts';
import { parseLlamaBench } from '../engine/llama-bench.ts';
import { type ChildTask, randomTokens, type Turn } from './turn.ts';

const HELP = `Usage: npx tsx test/bench/expert-peers/run.ts [options]

A mixture of about twice its memory decodes tokens drawn at random, by Hearth's --memory and by llama.cpp and ik_llama.cpp
with a mapped file, in control groups with the same limits of memory, disk and processors, by turns, at each read-ahead of
the disk. Needs Linux, root and control groups. Stop it by Ctrl+C: the disk's own read-ahead is set again.

  --shape <name>        ${MIXTURE_NAMES.join(', ')} (default: olmoe)
  --models <dir>        where mixtures are made and kept; on the disk that is limited
  --read-ahead <list>   read_ahead_kb of that disk, KiB (default: 8192,128)
  --disk <rate>         bytes per second that the disk is limited to (default: 400 MB/s)
  --tokens <n>          of each turn; the first half fills caches (default: 24)
  --rounds <n>          turns of each engine (default: 3)
  --llama <path>        llama-bench of llama.cpp, built with GGML_CPU_REPACK=OFF: otherwise it copies the experts into memory
                        that can't be given back
  --ik <path>           llama-cli of ik_llama.cpp, which also runs with --prefetch-experts
                        Both draw tokens themselves (llama-cli samples at a temperature that makes all equally likely)
                        after they have read the whole file, and all of these count.
  --seed <n>            of weights and tokens (default: 1)
  --out <file>          JSON with all turns
`;

/** Threads of each engine. */
const THREADS = 2;

interface Engine {
  readonly name: string;
  turn(task: ChildTask, surroundings: Surroundings): Promise<Turn>;
}

/** An engine at one read-ahead: seconds of a token over rounds, and how many times as long as Hearth's in the same round. */
interface Cell {
  readonly readAhead: number;
  readonly engine: string;
  readonly turns: readonly Turn[];
  readonly tokenSeconds: Spread;
  readonly timesHearth: Spread;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      shape: { type: 'string', default: 'olmoe' },
      models: { type: 'string', default: join(tmpdir(), 'hearth-models') },
      'read-ahead': { type: 'string', default: '8192,128' },
      disk: { type: 'string', default: '400 MB/s' },
      tokens: { type: 'string', default: '24' },
      rounds: { type: 'string', default: '3' },
      llama: { type: 'string' },
      ik: { type: 'string' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const which = readChoice('--shape', values.shape, MIXTURE_NAMES);
  const readAheads = readList('--read-ahead', values['read-ahead']).map((one) =>
    readCount('--read-ahead', one, 0, 2 ** 20),
  );
  const diskRate = parseQuantity(values.disk, 'rate', '--disk');
  const [count, rounds] = [readCount('--tokens', values.tokens, 2, 1000), readCount('--rounds', values.rounds, 1, 100)];
  const seed = readCount('--seed', values.seed, 0);
  if (values.out !== undefined) makeOutputFolder('--out', dirname(values.out));
  const { memory } = MIXTURES[which];
  const model = await madeMixture(values.models, which, seed, createProgress);
  const ground = findLabGround(REAL_FILES, runProgram, values.models, 0);
  if ('missing' in ground) throw new InputError('control groups', `are needed: ${ground.missing.join('; ')}`);
  const surroundings = { ground, limits: { memory, diskRate, cores: THREADS } };
  const { vocabularySize } = mixtureShape(which);
  const tokens = randomTokens(count, vocabularySize, seed);
  const task = { model, memory, threads: THREADS, tokens, warmUp: count >> 1 };
  const engines = enginesOf(values);
  const knob = `/sys/dev/block/${ground.disk}/queue/read_ahead_kb`;
  const own = readFileSync(knob, 'utf8');
  const restore = (): void => writeFileSync(knob, own);
  process.once('exit', restore);
  const cells: Cell[] = [];
  for (const readAhead of readAheads) {
    writeFileSync(knob, String(readAhead));
    const turns = engines.map((): Turn[] => []);
    for (let round = 0; round < rounds; round++)
      for (const [index, engine] of engines.entries()) {
        const turn = await turnOf(engine, task, surroundings);
        process.stderr.write(`${engine.name}, ${readAhead} KiB: ${turn.tokenSeconds.toFixed(3)} s/token\n`);
        turns[index]?.push(turn);
      }
    const hearth = turns[0] as Turn[];
    for (const [index, { name }] of engines.entries())
      cells.push(cellOf({ readAhead, engine: name, turns: turns[index] as Turn[], hearth }));
  }
  const facts = {
    shape: which,
    memory,
    diskRate,
    tokens: count,
    rounds,
    seed,
    processor: cpus()[0]?.model,
    kernel: release(),
  };
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify({ ...facts, cells }, null, 1)}\n`);
  process.stdout.write(textOf(facts, cells));
}

/** @throws InputError if the engine's process fails */
async function turnOf({ name, turn }: Engine, task: ChildTask, surroundings: Surroundings): Promise<Turn> {
  try {
    return await turn(task, surroundings);
  } catch (error) {
    throw error instanceof InputError ? error : new InputError(name, (error as Error).message);
  }
}

/** Hearth first, then the peers that were given. */
function enginesOf({ llama, ik }: { readonly llama?: string | undefined; readonly ik?: string | undefined }): Engine[] {
  const clients = ik === undefined ? [] : [[], ['--prefetch-experts']].map((flags) => llamaCli(ik, flags));
  return [HEARTH, ...(llama === undefined ? [] : [llamaBench(llama)]), ...clients];
}

const HEARTH: Engine = {
  name: 'Hearth',
  async turn(task, surroundings) {
    const node = [process.execPath, '--max-semi-space-size=1', '--import', import.meta.resolve('tsx')];
    const command = [...node, join(import.meta.dirname, 'hearth-child.ts'), JSON.stringify(task)];
    return JSON.parse((await runInGroup(command, task.model, surroundings)).stdout) as Turn;
  },
};

/** llama.cpp's llama-bench, which draws tokens itself. */
function llamaBench(path: string): Engine {
  return {
    name: 'llama.cpp, mmap',
    async turn({ model, threads, tokens }, surroundings) {
      const options = ['-m', model, '-t', String(threads), '-p', '0', '-n', String(tokens.length), '-lm', 'mmap'];
      const { stdout } = await runInGroup([path, ...options, '-r', '1', '-o', 'json'], model, surroundings);
      const { seconds, description } = parseLlamaBench(path, stdout);
      return { tokenSeconds: (seconds[0] as number) / tokens.length, description };
    },
  };
}

/** ik_llama.cpp's llama-cli, which samples tokens itself. */
function llamaCli(path: string, flags: readonly string[]): Engine {
  return {
    name: ['ik_llama.cpp, mmap', ...flags].join(' '),
    async turn({ model, threads, tokens }, surroundings) {
      const drawn = ['--temp', '1000', '--top-k', '0', '--top-p', '1', '--min-p', '0', '--ignore-eos'];
      // It writes a log into its folder.
      const elsewhere = ['sh', '-c', 'cd "$0" && exec "$@"', tmpdir(), resolve(path)];
      const asked = ['-m', model, '-t', String(threads), '-c', '512', '-n', String(tokens.length), '-p', 'a'];
      const { stderr } = await runInGroup([...elsewhere, ...asked, ...drawn, ...flags], model, surroundings);
      const [, milliseconds, runs] =
        /(?<!prompt )eval time = +([\d.]+) ms \/ +(\d+) (?:runs|tokens)/.exec(stderr) ?? [];
      if (milliseconds === undefined) throw new InputError(path, 'printed no eval time; give the path of llama-cli');
      const [, build = ''] = /build[ :=]+(.+)/.exec(stderr) ?? [];
      return { tokenSeconds: Number(milliseconds) / 1000 / Number(runs), description: build };
    },
  };
}

function cellOf({
  turns,
  hearth,
  ...cell
}: Omit<Cell, 'tokenSeconds' | 'timesHearth'> & { hearth: readonly Turn[] }): Cell {
  const seconds = turns.map(({ tokenSeconds }) => tokenSeconds);
  const times = seconds.map((one, round) => one / (hearth[round] as Turn).tokenSeconds);
  return { ...cell, turns, tokenSeconds: spreadOf(seconds), timesHearth: spreadOf(times) };
}

function textOf(
  { shape, memory, diskRate, rounds }: { shape: string; memory: number; diskRate: number; rounds: number },
  cells: readonly Cell[],
): string {
  const lines = cells.map(({ readAhead, engine, tokenSeconds, timesHearth, turns }) => {
    const bytes = turns[0]?.tokenBytes;
    const times = `${timesHearth.median.toFixed(2)} × Hearth (${timesHearth.least.toFixed(2)} to ${timesHearth.most.toFixed(2)})`;
    return `${readAhead} KiB  ${engine}: ${tokenSeconds.median.toFixed(3)} s/token${bytes === undefined ? '' : `, ${formatBytes(bytes)}/token`}, ${times}`;
  });
  const [hearth] = cells[0]?.turns ?? [];
  const share = (value = Number.NaN): string => `${(100 * value).toFixed(0)} %`;
  return `${shape}, ${formatBytes(memory)} of memory, ${formatBytes(diskRate)}/s, ${rounds} rounds; a token uses ${share(hearth?.used)} of the experts, the counted tokens ${share(hearth?.distinct)}
${lines.join('\n')}
`;
}

try {
  await main();
} catch (error) {
  process.exitCode = reportError(error, 'expert-peers');
}
