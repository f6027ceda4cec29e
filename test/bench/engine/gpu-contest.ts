import { withFile } from '../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { threeDigits } from '../../../engine/input/format.ts';
import type { Model } from '../../../engine/model/model.ts';
import { decodeBytes, limitOf, prefillOperations } from './cell.ts';
import { type Child, startChild } from './child.ts';
import { type Discipline, middle } from './contest.ts';
import type { Engine } from './engine.ts';
import { type LlamaBench, startLlamaBench } from './llama-bench.ts';

/** Tokens by which llama.cpp's cache grows. */
const CONTEXT_STEP = 256;

/** Tokens that are decoded before the first turn. */
const WARMING_TOKENS = 2;

/** A model in one discipline: tokens per second of every turn, by engine. */
export interface GpuCell extends Discipline {
  readonly model: string;
  readonly mix: string;
  readonly rates: Readonly<Record<string, readonly number[]>>;
  /** Hearth's rate over the probe's of the same minutes: bytes of weights in decoding, operations in prefilling. */
  readonly share: number;
  /** The probe's rate: bytes or operations per second. */
  readonly limit: number;
}

export interface GpuContest {
  readonly file: string;
  readonly disciplines: readonly Discipline[];
  readonly repeats: number;
  /** The GPU, by a part of its name. */
  readonly device: string | undefined;
  /** node-llama-cpp's folder; `undefined`: none. */
  readonly folder: string | undefined;
  readonly builds: readonly ('vulkan' | 'cuda')[];
  readonly programs: readonly LlamaBench[];
  /** Called with what each engine is, and with why one is missing. */
  readonly described: (engine: string) => void;
  readonly missing: (reason: string) => void;
  /** Whether there is time for another round after the first. Default: always. */
  readonly hasTime?: () => boolean;
  /** Ends the engines at once, wherever they are. */
  readonly signal?: AbortSignal;
}

/**
 * Runs all engines on a model in turns, each in a process of its own, in rounds over all disciplines. Yields a
 * discipline's cell whenever it knows more: the next one takes its place.
 * @throws InputError if an engine ends, which the signal makes all of them do
 */
export async function* gpuContest(contest: GpuContest): AsyncGenerator<GpuCell> {
  const { file, disciplines, repeats, device, folder, builds, programs, hasTime = () => true, signal } = contest;
  const model = withFile(file, (bytes) => modelFromGguf(readGguf(bytes)));
  const most = Math.max(...disciplines.map(({ tokens }) => tokens)) + 8;
  const task = {
    model: file,
    threads: 1,
    context: Math.ceil(most / CONTEXT_STEP) * CONTEXT_STEP,
    vocabulary: model.vocabularySize,
  };
  const all: Engine[] = [];
  try {
    const hearth = await startChild('hearth-gpu', { ...task, gpu: { build: 'vulkan', device } }, signal);
    all.push(hearth);
    for (const build of folder === undefined ? [] : builds) {
      const given = { ...task, library: folder ?? '', gpu: { build, device } };
      const started = await startChild('llama', given, signal).catch(({ message }: Error) => message);
      signal?.throwIfAborted();
      if (typeof started === 'string') contest.missing(`llama.cpp, ${build}: ${started}`);
      else all.push({ ...started, name: `llama.cpp ${build}` });
    }
    for (const program of programs) all.push(await startLlamaBench(program, task));
    for (const { description } of all) contest.described(description);
    const turns = disciplines.map((discipline) => turnsOf(model, discipline, { hearth, all }));
    for (let round = 0; round < repeats && (round === 0 || hasTime()); round++)
      for (const turn of turns) yield* turn(round);
  } finally {
    for (const engine of all) engine.close();
  }
}

/** Hearth, and what it is compared with. */
interface Engines {
  readonly hearth: Child;
  readonly all: readonly Engine[];
}

/**
 * Rounds of a discipline: all engines in turn, another one first each time, after each has warmed up for the first one.
 * Yields the cell of all its rounds before the round's limit is probed, and with it.
 */
function turnsOf(
  model: Model,
  discipline: Discipline,
  { hearth, all }: Engines,
): (round: number) => AsyncGenerator<GpuCell> {
  const { kind, tokens } = discipline;
  const rates: Record<string, number[]> = Object.fromEntries(all.map(({ name }) => [name, []]));
  const [shares, limits]: [number[], number[]] = [[], []];
  const perToken = kind === 'decode' ? decodeBytes(model) : prefillOperations(model, tokens);
  const turn = async (engine: Engine, count: number): Promise<number> => {
    if (kind === 'prefill') return (await engine.prefill(count)).seconds;
    if (engine.continues) await engine.prefill(1);
    return (await engine.decode(count)).seconds;
  };
  const cell = (): GpuCell => ({
    ...{ model: model.name, mix: model.mix, ...discipline, rates },
    ...{ share: middle(shares), limit: middle(limits) },
  });
  return async function* (round) {
    for (let index = 0; index < all.length; index++) {
      const engine = all[(round + index) % all.length] as Engine;
      // Engines that don't continue warm up in each turn.
      if (round === 0 && engine.continues) await turn(engine, kind === 'prefill' ? tokens : WARMING_TOKENS);
      rates[engine.name]?.push(tokens / (await turn(engine, tokens)));
    }
    yield cell();
    const limit = limitOf(kind, model.mix, await hearth.limits(kind));
    limits.push(limit);
    shares.push(((rates[hearth.name]?.at(-1) ?? Number.NaN) * perToken) / limit);
    yield cell();
  };
}

/** A cell in one line: medians of all engines. */
export function cellText({ model, mix, kind, tokens, rates }: GpuCell): string {
  const each = Object.entries(rates).map(([name, turns]) => `${name} ${threeDigits(middle(turns))}`);
  return `${model} ${mix}, ${kind} ${tokens}: ${each.join(', ')} tokens/s`;
}
