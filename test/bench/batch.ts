import { fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import type { Sequences } from '../../engine/runtime/texts/sequences.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import type { PeerTask, PeerTurn } from './batch-peer-child.ts';
import { findLlama, NODE_LLAMA } from './engine/find-llama.ts';

/**
 * Measures continuous batching: tokens per second that all requests together decode, by their number; the time of a pass
 * in each of the two ways of multiplying (see MultiplyOperation); and the time until the first token of a prompt whose
 * beginning is kept. Numbers of requests take turns, so that other processes disturb all alike; best and median of the
 * rounds are shown. Tokens per second of the process's own CPU time say what the kernels cost on a busy machine; with
 * more than one thread they include waiting for the other. With `--peer`, llama.cpp (the prebuilt one of node-llama-cpp)
 * continues the same prompts in sequences of its own, by turns with Hearth.
 */
const { values: options, positionals: models } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '2' },
    requests: { type: 'string', default: '1,2,4,8,16' },
    tokens: { type: 'string', default: '12' },
    rounds: { type: 'string', default: '3' },
    prefix: { type: 'string', default: '2000' },
    peer: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
});

const PAGE_TOKENS = 64;
/** Tokens of each prompt, and of what follows a prefix. */
const PROMPT = 16;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;
const best = (values: readonly number[]): number => Math.min(...values);
const prompt = (seed: number, length: number): number[] =>
  Array.from({ length }, (_, i) => (7 * i * i + 131 * seed + 11) % 30_000);
const greedy = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));
/** The model's own text must not end early. */
const TOKENIZER = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };

interface Case {
  readonly label: string;
  readonly tokens: number;
  /** @returns seconds, and those of CPU time, if they are only of these tokens */
  readonly run: () => Promise<{ readonly seconds: number; readonly cpu?: number }>;
}

/** Requests through the engine: the time from the last request's first token to the first request's last. */
function throughEngine(sequences: Sequences, requests: number, tokens: number): Case {
  const run = async () => {
    const engine = createBatchEngine({ sequences, tokenizer: TOKENIZER });
    const running = Array.from({ length: requests }, (_, seed) =>
      engine.submit({ prompt: prompt(seed, PROMPT), tokens, sampler: greedy() }),
    );
    const results = await Promise.all(running.map(({ result }) => result));
    await engine.close();
    // All begin in one pass, as their prompts fit into it.
    return { seconds: best(results.map(({ laterSeconds }) => laterSeconds)) };
  };
  return { label: `${requests} requests`, tokens: requests * (tokens - 1), run };
}

/** Passes of one token of each sequence, without an engine: the best of `repeats`. */
function passes(sequences: Sequences, count: number, multiplied: 'singly' | 'together', repeats: number): Case {
  const run = async () => {
    const all = Array.from({ length: count }, () => sequences.open());
    const work = (tokens: readonly number[]) =>
      all.map((sequence) => ({ sequence, tokens, logits: 'last', multiplied }) as const);
    await sequences.evaluate(work(prompt(1, PROMPT)));
    const [times, cpuTimes]: [number[], number[]] = [[], []];
    for (let i = 0; i < repeats; i++) {
      const [start, cpu] = [performance.now(), process.cpuUsage()];
      await sequences.evaluate(work([i]));
      const { user, system } = process.cpuUsage(cpu);
      times.push((performance.now() - start) / 1000);
      cpuTimes.push((user + system) / 1e6);
    }
    for (const sequence of all) sequence.close();
    return { seconds: best(times), cpu: best(cpuTimes) };
  };
  return { label: `${count} tokens ${multiplied}`, tokens: count, run };
}

/** @returns seconds by case and round */
async function takeTurns(cases: readonly Case[], rounds: number): Promise<number[][]> {
  const times = cases.map((): number[] => []);
  const cpuTimes = cases.map((): number[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, { run }] of cases.entries()) {
      const { seconds, cpu } = await run();
      times[index]?.push(seconds);
      if (cpu !== undefined) cpuTimes[index]?.push(cpu);
    }
  const [one] = cases as [Case];
  const rate = (index: number, of: (values: readonly number[]) => number): number =>
    (cases[index]?.tokens as number) / of(times[index] as number[]);
  for (const [index, { label, tokens }] of cases.entries()) {
    const cpu = cpuTimes[index] as number[];
    const perCpu = cpu.length === 0 ? '' : `; ${(tokens / best(cpu)).toFixed(1)} per CPU second best`;
    console.log(
      `  ${label}: ${rate(index, best).toFixed(1)} tokens/s best, ${rate(index, median).toFixed(1)} median; ` +
        `${(rate(index, median) / rate(0, median)).toFixed(2)} times ${one.label} (medians)${perCpu}`,
    );
  }
  return times;
}

interface Peer {
  readonly name: string;
  /** The same requests as `throughEngine`. */
  readonly requests: (count: number, tokens: number) => Case;
  readonly close: () => void;
}

/** Starts llama.cpp in a process of its own. @throws Error where node-llama-cpp can't be had, or its process ends */
async function startPeer(task: Omit<PeerTask, 'library'>): Promise<Peer> {
  const found = await findLlama();
  if ('reason' in found) throw new Error(`${NODE_LLAMA} can’t be installed: ${found.reason}`);
  const child = fork(
    join(import.meta.dirname, 'batch-peer-child.ts'),
    [JSON.stringify({ ...task, library: found.folder } satisfies PeerTask)],
    // With more threads in Node's pool, llama.cpp's own migrate between tokens.
    { execArgv: ['--import', import.meta.resolve('tsx')], env: { ...process.env, UV_THREADPOOL_SIZE: '1' } },
  );
  const ended = new Promise<never>((_, reject) => child.once('exit', (code) => reject(new Error(`the peer: ${code}`))));
  ended.catch(() => {});
  const answer = async () => (await Promise.race([once(child, 'message'), ended]))[0];
  const name = (await answer()) as string;
  return {
    name,
    close: () => void child.kill(),
    requests: (count, tokens) => ({
      label: `${count} requests, ${name}`,
      tokens: count * (tokens - 1),
      async run() {
        const prompts = Array.from({ length: count }, (_, seed) => prompt(seed, PROMPT));
        child.send({ prompts, tokens: tokens - 1 } satisfies PeerTurn);
        return { seconds: (await answer()) as number };
      },
    }),
  };
}

/** Hearth's tokens per second compared with the peer's in the same round. */
function besidePeer(name: string, count: number, own: readonly number[], peers: readonly number[]): string {
  const ratios = own.map((seconds, round) => (peers[round] as number) / seconds);
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  return `  ${count} requests: Hearth has ${median(ratios).toFixed(2)} times the tokens/s of ${name} (${least} to ${most} by round)`;
}

/** Seconds until the first token of a prompt that was not there before, and of one with the same beginning. */
async function firstTokens(sequences: Sequences, prefix: number): Promise<void> {
  const engine = createBatchEngine({ sequences, tokenizer: TOKENIZER });
  const first = async (end: number) => {
    const tokens = [...prompt(9, prefix), ...prompt(end, PROMPT)];
    const { firstTokenSeconds = Number.NaN, cachedTokens } = await engine.submit({
      ...{ prompt: tokens, tokens: 1 },
      sampler: greedy(),
    }).result;
    return { seconds: firstTokenSeconds, cachedTokens };
  };
  const cold = await first(1);
  const cached = [await first(2), await first(3), await first(4)];
  await engine.close();
  const own = median(cached.map((one) => one.seconds));
  console.log(
    `  first token of ${prefix + PROMPT} tokens: ${cold.seconds.toFixed(2)} s; with ${cached[0]?.cachedTokens} of them kept ` +
      `${own.toFixed(3)} s (${((100 * own) / cold.seconds).toFixed(1)} %)`,
  );
}

async function bench(kernels: Kernels, path: string): Promise<void> {
  const counts = options.requests.split(',').map(Number);
  const [tokens, rounds, prefix] = [Number(options.tokens), Number(options.rounds), Number(options.prefix)];
  // A pass has at most as many tokens as a context.
  const context = Math.max(prefix + PROMPT + 1, PROMPT + tokens, 512);
  const pages = Math.ceil(context / PAGE_TOKENS) + 1 + Math.max(...counts) * Math.ceil((PROMPT + tokens) / PAGE_TOKENS);
  const sequences = loadSequences(path, { kernels, context, pages, pageTokens: PAGE_TOKENS, folder: tmpdir() });
  const { model } = sequences;
  console.log(`${model.name} ${model.mix}, ${kernels.threads} threads, ${kernels.instructionSet}:`);
  await passes(sequences, 1, 'singly', 2).run();
  const own = counts.map((count) => throughEngine(sequences, count, tokens));
  if (options.peer) {
    const { threads } = kernels;
    const peer = await startPeer({ model: path, threads, context: PROMPT + tokens, sequences: Math.max(...counts) });
    const peers = counts.map((count) => peer.requests(count, tokens));
    await peer.requests(1, tokens).run();
    const times = await takeTurns([...own, ...peers], rounds);
    peer.close();
    for (const [index, count] of counts.entries())
      console.log(besidePeer(peer.name, count, times[index] as number[], times[counts.length + index] as number[]));
  } else await takeTurns(own, rounds);
  await takeTurns(
    (['singly', 'together'] as const).flatMap((way) => [1, 4, 8].map((count) => passes(sequences, count, way, 8))),
    rounds,
  );
  if (prefix > 0) await firstTokens(sequences, prefix);
}

async function main(): Promise<void> {
  if (options.help === true || models.length === 0) {
    console.log(
      'usage: npm run bench:batch -- model.gguf … [--threads 2] [--requests 1,2,4,8,16] [--tokens 12] [--rounds 3] [--prefix 2000] [--peer]',
    );
    return;
  }
  for (const model of models) {
    const kernels = openKernels({ implementation: 'native', threads: Number(options.threads) });
    await bench(kernels, model);
    kernels.close();
  }
}

await main();
